//! Everything that this process logs, watched for secrets while the tests run.
//!
//! Every secret that a test makes up begins with [`CANARY`]. Whatever any library of the process says at any level, also
//! below what production shows, is searched line by line; a line with a secret ends the whole run, because the test whose
//! doing it was may be long over, and a panic in somebody's task could pass unseen.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tracing::Level;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// How every secret of a test begins.
pub const CANARY: &str = "canary-";

static LOGS: OnceLock<Logs> = OnceLock::new();

/// The log of the whole process. Tests share it, so each searches for what only it can have caused.
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// Starts watching everything, once per process, and keeps what our own crates say at their most talkative, others as
    /// in production.
    pub fn capture() -> Self {
        let start = || {
            let logs = Self::default();
            let kept = Targets::new().with_default(Level::WARN).with_target("pudu", Level::TRACE);
            // The table's SDK at trace writes every row in full, which is as slow as it is long: what is in the rows is
            // searched in the table itself, and production shows its warnings only.
            let watched = ["aws_", "dynoxide", "h2"]
                .into_iter()
                .fold(Targets::new().with_default(LevelFilter::TRACE), |targets, begin| {
                    targets.with_target(begin, Level::WARN)
                });
            let all = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(Watch);
            let own = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(logs.clone());
            let registry =
                tracing_subscriber::registry().with(all.with_filter(watched)).with(own.with_filter(kept));
            tracing::subscriber::set_global_default(registry).expect("nothing else logs in this process");
            // What libraries say through the older facade comes here too.
            tracing_log::LogTracer::init().expect("nothing else takes those");
            logs
        };
        LOGS.get_or_init(start).clone()
    }

    /// What was logged until now.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Takes whole lines, as the formatter writes them.
struct Watch;

impl Write for Watch {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if leaks(line) {
            let _ = io::stderr().write_all(b"A SECRET IS LOGGED, so this run ends here: ");
            let _ = io::stderr().write_all(line);
            std::process::exit(1);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Watch {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

/// Whether there is a secret in it, in any form that logs are known to give a text: as it is, as list of its bytes, and in
/// Base64, where only every third beginning looks the same.
pub fn leaks(line: &[u8]) -> bool {
    const FORMS: [&str; 5] = [CANARY, "99, 97, 110, 97, 114, 121, 45", "Y2FuYXJ5L", "NhbmFyeS", "jYW5hcnkt"];
    let has = |form: &&str| line.windows(form.len()).any(|window| window == form.as_bytes());
    FORMS.iter().any(has)
}
