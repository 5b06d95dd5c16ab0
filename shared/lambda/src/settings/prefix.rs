//! The one prefix under which a function reads parameters.

/// Most characters in the name of a parameter, as the parameter store has it.
const MAX_NAME: usize = 1011;
/// Most levels in it; the variable is the last one.
const MAX_LEVELS: usize = 15;

/// A prefix such as `/pudu/prod`: what is kept under it may be used as `$VAR`, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterPrefix(String);

impl ParameterPrefix {
    /// Reads and checks it. The error says what a prefix must be like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let must = |what: &str| Err(format!("must {what}; write it like /pudu/prod"));
        let Some(levels) = text.strip_prefix('/').map(|rest| rest.split('/').collect::<Vec<_>>()) else {
            return must("begin with a slash");
        };
        let legal = |level: &&str| {
            !level.is_empty()
                && level.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        if !levels.iter().all(legal) {
            return must("be letters, digits and _.- between single slashes, without one at the end");
        }
        let first = levels.first().map(|level| level.to_ascii_lowercase()).unwrap_or_default();
        if first.starts_with("aws") || first.starts_with("ssm") {
            return must("not begin with aws or ssm, which the service keeps for itself");
        }
        if levels.len() >= MAX_LEVELS {
            return must("have fewer than 15 levels");
        }
        Ok(Self(text.to_owned()))
    }

    /// The name of the parameter for a variable; none when there cannot be one of that name, because it is too long.
    pub fn parameter(&self, variable: &str) -> Option<String> {
        let name = format!("{}/{variable}", self.0);
        (name.len() <= MAX_NAME).then_some(name)
    }

    /// The variable for which a parameter is; none when it is not under this prefix.
    pub fn variable<'a>(&self, parameter: &'a str) -> Option<&'a str> {
        parameter.strip_prefix(self.0.as_str())?.strip_prefix('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_what_the_service_can_name() {
        for good in ["/pudu", "/pudu/prod", "/a.b/c_d-e/1"] {
            assert_eq!(ParameterPrefix::parse(good).map(|prefix| prefix.0), Ok(good.to_owned()));
        }
        let deep = "/x".repeat(15);
        for bad in [
            "",
            "/",
            "pudu",
            "/pudu/",
            "/pudu//x",
            "/pu du",
            "/pudu/*",
            "/aws/x",
            "/SSM",
            "/\u{e4}",
            deep.as_str(),
        ] {
            assert!(ParameterPrefix::parse(bad).unwrap_err().contains("/pudu/prod"), "{bad}");
        }
        assert!(ParameterPrefix::parse(&"/x".repeat(14)).is_ok());
    }

    #[test]
    fn names_go_there_and_back_and_never_outside() {
        let prefix = ParameterPrefix::parse("/pudu/prod").unwrap();
        assert_eq!(prefix.parameter("TOKEN").unwrap(), "/pudu/prod/TOKEN");
        assert_eq!(prefix.variable("/pudu/prod/TOKEN"), Some("TOKEN"));
        for outside in ["/pudu/production/TOKEN", "/pudu/TOKEN", "TOKEN", "/pudu/prod"] {
            assert_eq!(prefix.variable(outside), None, "{outside}");
        }
        let room = MAX_NAME - "/pudu/prod/".len();
        assert!(prefix.parameter(&"A".repeat(room)).is_some());
        assert_eq!(prefix.parameter(&"A".repeat(room + 1)), None);
    }
}
