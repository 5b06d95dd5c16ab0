//! Who asks: one authenticated caller of the gateway (DESIGN section 6). How a caller proves it is not known here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{CredentialTag, InvalidId, ServerName, ThreadId, UserId};

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything an administrator does, and everything of a user.
    Admin,
    /// Calls tools; sees the own threads and tasks.
    User,
}

impl Role {
    /// Its name in stored rows, claims and commands.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::User => "user",
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Admin, Self::User].into_iter().find(|role| role.as_str() == name)
    }
}

/// Which servers a principal may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Each.
    All,
    /// Those of these names; others are not there.
    Only(BTreeSet<String>),
}

/// Most servers that a scope names.
const SCOPE_SERVERS: usize = 100;

impl Scope {
    /// Those servers. Errors: more than 100 of them, one that can be no server's name, or that holds a control character.
    pub fn only(names: BTreeSet<String>) -> Result<Self, InvalidId> {
        let fits =
            |name: &String| ServerName::parse(name.as_str()).is_ok() && !name.chars().any(char::is_control);
        if names.len() <= SCOPE_SERVERS && names.iter().all(fits) {
            return Ok(Self::Only(names));
        }
        let rule = "must be at most 100 names of servers, each of at most 128 characters, without control characters";
        Err(InvalidId { what: "list of servers", rule })
    }

    /// Whether the server of that name is there.
    pub fn has(&self, server: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(server),
        }
    }
}

/// One authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Whose threads and tasks; no caller chooses it.
    pub user: UserId,
    /// What it may do.
    pub role: Role,
    /// By which credential it came in, for the audit and for its own thread.
    pub tag: CredentialTag,
    /// Which servers it may use.
    pub scope: Scope,
}

impl Principal {
    /// The thread of calls that name none (the `/mcp` endpoint): `mcp-<tag>`.
    pub fn own_thread(&self) -> ThreadId {
        ThreadId::of_credential(&self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_names_servers_exactly() {
        let only = Scope::Only(["a".to_owned()].into());
        assert!(only.has("a") && !only.has("A") && !only.has("") && Scope::All.has("b"));
        assert!(!Scope::Only(BTreeSet::new()).has("a"), "an empty scope is no full one");
    }

    #[test]
    fn a_scope_is_a_short_list_of_names() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(Scope::only(names(&["a", "ü b"])), Ok(Scope::Only(names(&["a", "ü b"]))));
        assert_eq!(Scope::only(names(&[])), Ok(Scope::Only(names(&[]))), "which is none");
        for bad in ["", " ", "a\u{1b}[2J", &"x".repeat(129)] {
            assert!(Scope::only(names(&["a", bad])).is_err(), "{bad:?}");
        }
        let many = |count: u32| Scope::only((0..count).map(|n| n.to_string()).collect());
        assert!(many(100).is_ok() && many(101).is_err());
    }

    #[test]
    fn roles_read_back() {
        for role in [Role::Admin, Role::User] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Admin"), None);
    }
}
