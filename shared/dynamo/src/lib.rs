//! The table: key schema, item codecs, and the stores behind the ports.
