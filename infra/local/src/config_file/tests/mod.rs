//! Files in folders of their own: found, watched, written.

mod search;
mod source;
mod survive;
mod write;
