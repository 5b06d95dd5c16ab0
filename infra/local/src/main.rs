//! `pudu`: everything on one machine.

fn main() {}
