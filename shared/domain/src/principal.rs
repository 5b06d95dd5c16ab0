//! Who asks: one authenticated caller of the gateway (DESIGN section 6). How a caller proves it is not known here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::ids::{CredentialTag, ThreadId, UserId};

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

impl Scope {
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
    fn roles_read_back() {
        for role in [Role::Admin, Role::User] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        assert_eq!(Role::parse("Admin"), None);
    }
}
