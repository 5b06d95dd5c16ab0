//! Where the sealing key comes from: a 0600 file on one machine; in the cloud a data key that KMS wraps and the table
//! keeps. It is read when it is first needed, not when a function starts, and kept for the life of the process.

mod file;
mod kms;

pub use file::FileKeys;
pub use kms::KmsKeys;
