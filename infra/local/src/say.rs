//! Lines for the person at the terminal. A terminal that is gone is no error: the work goes on without it.

use std::io::{self, ErrorKind, Write};

/// One line to standard output, at once.
pub(crate) fn line(text: &str) {
    // Who closed the pipe does not want to know; a full disk behind a redirection must not stop a server.
    let _ = write(io::stdout().lock(), text);
}

/// One line to standard error.
pub(crate) fn error(text: &str) {
    let _ = write(io::stderr().lock(), text);
}

/// What a command was asked for, to standard output; a reader that went away early (`| head`) has what it wanted.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    match write(io::stdout().lock(), text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn write(mut to: impl Write, text: &str) -> io::Result<()> {
    writeln!(to, "{text}")?;
    to.flush()
}
