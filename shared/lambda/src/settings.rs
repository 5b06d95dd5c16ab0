//! What a function is told by its environment: read once, before any I/O. template.yaml sets the same names (a test
//! compares them).

mod admission;
mod numbers;
mod prefix;

use std::path::PathBuf;
use std::time::Duration;

use pudu_app::limits::Limits;
use pudu_config::LaunchPolicy;

use numbers::number;

pub use admission::*;
pub use numbers::*;
pub use prefix::ParameterPrefix;

use crate::env::Source;

/// The table's name. Required.
pub const TABLE: &str = "PUDU_TABLE";
/// What is logged: `error`, `warn`, `info`, `debug` or `trace`. Default `info`.
pub const LOG: &str = "PUDU_LOG";
/// The KMS key that wraps the sealing key.
pub const SEAL_KMS_KEY: &str = "PUDU_SEAL_KMS_KEY";
/// A file with the sealing key, instead of KMS: for one machine and for tests.
pub const SEAL_KEY_FILE: &str = "PUDU_SEAL_KEY_FILE";
/// The prefix in the parameter store under which `$VAR` is read, such as `/pudu/prod`. Unset: no variable has a value.
pub const PARAMETER_PREFIX: &str = "PUDU_PARAMETER_PREFIX";
/// Private networks that servers may be in, such as `10.0.0.0/8`, separated by commas. Default: none.
pub const EGRESS_ALLOW: &str = "PUDU_EGRESS_ALLOW";
/// Whether servers of type `stdio` are started: `on` or `off`. Default `off`.
pub const STDIO: &str = "PUDU_STDIO";
/// Commands beside `npx` and `uvx` that the API may give a stdio server, separated by commas. Default: none.
pub const STDIO_COMMANDS: &str = "PUDU_STDIO_COMMAND_ALLOWLIST";
/// How answers leave the gateway's function: `buffered`, each as a whole, or `stream`, as they are made. The function's URL must be
/// of the same mind. Default `buffered`.
pub const ANSWERS: &str = "PUDU_ANSWERS";
/// How long one stream lasts, in seconds, 10 to 840: well below the function's time limit. Default 600.
pub const STREAM_SECONDS: &str = "PUDU_STREAM_SECONDS";

/// The task-poller, as the platform invokes it. Unset: it is left to its schedule.
pub const POLLER_FUNCTION: &str = "PUDU_POLLER_FUNCTION";
/// The notifier, as the platform invokes it. Unset: it is left to its schedule.
pub const NOTIFIER_FUNCTION: &str = "PUDU_NOTIFIER_FUNCTION";
/// The agent, as the platform invokes it. Unset: it is left to its schedule.
pub const AGENT_FUNCTION: &str = "PUDU_AGENT_FUNCTION";
/// The bucket of what is too large for a row. Required by the functions that read or remove it.
pub const BLOB_BUCKET: &str = "PUDU_BLOB_BUCKET";

/// Every name of ours that a function reads.
pub const NAMES: [&str; 37] = [
    TABLE,
    LOG,
    SEAL_KMS_KEY,
    SEAL_KEY_FILE,
    PARAMETER_PREFIX,
    EGRESS_ALLOW,
    STDIO,
    STDIO_COMMANDS,
    ANSWERS,
    STREAM_SECONDS,
    POLLER_FUNCTION,
    NOTIFIER_FUNCTION,
    AGENT_FUNCTION,
    BLOB_BUCKET,
    LEASE_SECONDS,
    POLL_INTERVAL_SECONDS,
    INPUT_REQUIRED_SECONDS,
    MAX_BACKOFF_SECONDS,
    DEGRADED_AFTER_ERRORS,
    MAX_RESULT_BYTES,
    RESULT_PREVIEW_CHARS,
    CANCEL_DEADLINE_SECONDS,
    RETENTION_DAYS,
    MAX_CONCURRENT_POLLS,
    MAX_CONCURRENT_PER_SERVER,
    OIDC_ISSUER,
    OIDC_AUDIENCE,
    OIDC_JWKS_URL,
    OIDC_ALGORITHMS,
    OIDC_ROLE_CLAIM,
    OIDC_ADMIN_VALUES,
    OIDC_USER_VALUES,
    OIDC_DEFAULT_ROLE,
    OIDC_SERVERS_CLAIM,
    RATE_PER_SECOND,
    RATE_BURST,
    CORS_ORIGINS,
];

/// Where the platform says that its Runtime API listens: nobody's server.
pub const RUNTIME_API: &str = "AWS_LAMBDA_RUNTIME_API";

/// A setting that is missing or wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {problem}")]
pub struct SettingError {
    /// Which variable.
    pub name: &'static str,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

/// Where the sealing key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealSource {
    /// Wrapped by this KMS key; the wrapped form stands in the table.
    Kms(String),
    /// In this file.
    File(PathBuf),
}

/// How answers leave the gateway's function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Each as a whole.
    Buffered,
    /// As they are made.
    Stream {
        /// How long one may last.
        lasting: Duration,
    },
}

/// A function's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The table's name.
    pub table: String,
    /// What is logged.
    pub log: tracing::Level,
    /// Where the sealing key comes from; none for a function that opens nothing.
    pub seal: Option<SealSource>,
    /// Intervals, bounds, lease and permits.
    pub numbers: Numbers,
    /// The task-poller, if this function wakes it.
    pub poller_function: Option<String>,
    /// The notifier, if this function wakes it.
    pub notifier_function: Option<String>,
    /// The agent, if this function wakes it.
    pub agent_function: Option<String>,
    /// The bucket of what is too large for a row, if this function needs it.
    pub blob_bucket: Option<String>,
    /// Where `$VAR` is read; none when it is not read at all.
    pub parameters: Option<ParameterPrefix>,
    /// Private networks that are open, as they were written; whoever makes the egress rule reads them.
    pub egress_allow: String,
    /// Where the platform's Runtime API listens, when this process runs on the platform.
    pub runtime_api: Option<String>,
    /// Whether servers may be started as child processes.
    pub stdio: bool,
    /// Which of them the API may name.
    pub launch: LaunchPolicy,
    /// How answers leave, if this function is the gateway.
    pub answers: Answers,
    /// What callers are held to.
    pub admission: Admission,
}

impl Settings {
    /// Reads and checks everything.
    pub fn read(source: &dyn Source) -> Result<Self, SettingError> {
        let table = source.get(TABLE).ok_or_else(|| SettingError {
            name: TABLE,
            problem: "is not set; it is the name of the DynamoDB table".to_owned(),
        })?;
        let log = source.get(LOG).unwrap_or_else(|| "info".to_owned());
        let log = log.parse().map_err(|_| SettingError {
            name: LOG,
            problem: "must be error, warn, info, debug or trace".to_owned(),
        })?;
        let seal = match (source.get(SEAL_KMS_KEY), source.get(SEAL_KEY_FILE)) {
            (Some(_), Some(_)) => {
                let problem = format!("and {SEAL_KEY_FILE} are both set; keep the one that sealed the table");
                return Err(SettingError { name: SEAL_KMS_KEY, problem });
            }
            (Some(key), None) => Some(SealSource::Kms(key)),
            (None, file) => file.map(|path| SealSource::File(path.into())),
        };
        Ok(Self {
            table,
            log,
            seal,
            numbers: Numbers::read(source, &Limits::default())?,
            poller_function: source.get(POLLER_FUNCTION),
            notifier_function: source.get(NOTIFIER_FUNCTION),
            agent_function: source.get(AGENT_FUNCTION),
            blob_bucket: source.get(BLOB_BUCKET),
            parameters: parameters(source)?,
            egress_allow: source.get(EGRESS_ALLOW).unwrap_or_default(),
            runtime_api: source.get(RUNTIME_API),
            stdio: stdio(source)?,
            launch: launch(source, STDIO_COMMANDS)?,
            answers: answers(source)?,
            admission: Admission::read(source, CLOUD_RATE)?,
        })
    }
}

fn parameters(source: &dyn Source) -> Result<Option<ParameterPrefix>, SettingError> {
    let parse = |text: String| ParameterPrefix::parse(&text);
    let parsed = source.get(PARAMETER_PREFIX).map(parse).transpose();
    parsed.map_err(|problem| SettingError { name: PARAMETER_PREFIX, problem })
}

fn stdio(source: &dyn Source) -> Result<bool, SettingError> {
    match source.get(STDIO).as_deref() {
        None | Some("off") => Ok(false),
        Some("on") => Ok(true),
        Some(_) => Err(SettingError { name: STDIO, problem: "must be on or off".to_owned() }),
    }
}

/// The launch policy with the commands that the variable `name` adds.
pub fn launch(source: &dyn Source, name: &'static str) -> Result<LaunchPolicy, SettingError> {
    let parsed = LaunchPolicy::parse(&source.get(name).unwrap_or_default());
    parsed.map_err(|wrong| SettingError { name, problem: wrong.to_string() })
}

fn answers(source: &dyn Source) -> Result<Answers, SettingError> {
    let lasting = Duration::from_secs(number(source, STREAM_SECONDS, 10..=840, 600)?);
    match source.get(ANSWERS).as_deref() {
        None | Some("buffered") => Ok(Answers::Buffered),
        Some("stream") => Ok(Answers::Stream { lasting }),
        Some(_) => Err(SettingError { name: ANSWERS, problem: "must be buffered or stream".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<Settings, SettingError> {
        Settings::read(&pairs.iter().copied().collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn only_the_table_is_required() {
        let settings = read(&[(TABLE, "pudu")]).unwrap();
        assert_eq!((settings.numbers.limits.lease.as_secs(), settings.seal), (120, None));
        let functions = (settings.poller_function, settings.notifier_function, settings.agent_function);
        assert_eq!((functions, settings.blob_bucket), ((None, None, None), None));
        assert_eq!((settings.parameters, settings.egress_allow.as_str(), settings.stdio), (None, "", false));
        assert_eq!(read(&[]).unwrap_err().name, TABLE);
        assert_eq!(read(&[(TABLE, "")]).unwrap_err().name, TABLE);
    }

    #[test]
    fn answers_leave_whole_unless_they_are_streamed() {
        let answers = |pairs: &[_]| read(&[&[(TABLE, "pudu")], pairs].concat()).unwrap().answers;
        assert_eq!(answers(&[]), Answers::Buffered);
        assert_eq!(answers(&[(ANSWERS, "buffered"), (STREAM_SECONDS, "20")]), Answers::Buffered);
        let lasting = |seconds| Answers::Stream { lasting: Duration::from_secs(seconds) };
        assert_eq!(answers(&[(ANSWERS, "stream")]), lasting(600));
        assert_eq!(answers(&[(ANSWERS, "stream"), (STREAM_SECONDS, "20")]), lasting(20));
    }

    #[test]
    fn wrong_values_name_the_variable() {
        for (name, value) in [
            (LOG, "loud"),
            (LEASE_SECONDS, "2m"),
            (PARAMETER_PREFIX, "pudu"),
            (STDIO, "true"),
            (STDIO_COMMANDS, "/bin/sh"),
            (ANSWERS, "streamed"),
            (STREAM_SECONDS, "900"),
        ] {
            assert_eq!(read(&[(TABLE, "pudu"), (name, value)]).unwrap_err().name, name, "{value}");
        }
    }

    #[test]
    fn commands_are_added_to_those_that_the_api_may_name() {
        let judge =
            |settings: Settings| settings.launch.judge(Some("docker"), &["run", "image"], &[]).is_ok();
        assert!(!judge(read(&[(TABLE, "pudu")]).unwrap()));
        assert!(judge(read(&[(TABLE, "pudu"), (STDIO_COMMANDS, "docker, python")]).unwrap()));
    }

    #[test]
    fn two_sources_of_the_key_are_an_error() {
        assert!(read(&[(TABLE, "pudu"), (SEAL_KMS_KEY, "arn"), (SEAL_KEY_FILE, "/k")]).is_err());
        let kms = read(&[(TABLE, "pudu"), (SEAL_KMS_KEY, "arn")]).unwrap();
        assert_eq!(kms.seal, Some(SealSource::Kms("arn".to_owned())));
    }
}
