//! What the command line takes, and what it refuses.

use std::path::Path;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::{Cli, Command, ConfigCommand, KeysCommand, RoleChoice, SourceChoice};

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("pudu").chain(line.split_whitespace()))
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn without_a_command_everything_has_a_default() {
    let cli = parse("").unwrap();
    assert!(cli.command.is_none());
    assert_eq!((cli.run.port, cli.run.example_port), (8080, None));
    assert_eq!(cli.run.store.data_dir, Path::new(".pudu"));
    assert_eq!((cli.run.store.dynamodb_endpoint, cli.run.store.table.as_str()), (None, "pudu"));
}

#[test]
fn every_option_of_the_start_is_read() {
    let cli = parse("--port 1 --example-port 2 --data-dir d --dynamodb-endpoint http://h --table t").unwrap();
    assert_eq!((cli.run.port, cli.run.example_port), (1, Some(2)));
    assert_eq!(cli.run.store.data_dir, Path::new("d"));
    assert_eq!(
        (cli.run.store.dynamodb_endpoint.as_deref(), cli.run.store.table.as_str()),
        (Some("http://h"), "t")
    );
}

#[test]
fn an_option_that_would_not_reach_its_command_is_refused() {
    let refused = parse("--data-dir d tools").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ArgumentConflict);
    let Some(Command::Tools(args)) = parse("tools --data-dir d").unwrap().command else { panic!() };
    assert_eq!(args.store.data_dir, Path::new("d"));
}

#[test]
fn a_config_is_shown_checked_or_imported() {
    let config = |line: &str| match parse(line).unwrap().command {
        Some(Command::Config(args)) => args,
        _ => panic!(),
    };
    let shown = config("config --data-dir d --config-file f");
    assert!(shown.command.is_none());
    assert_eq!(shown.show.source.config_file.as_deref(), Some(Path::new("f")));
    let Some(ConfigCommand::Check { file }) = config("config check f").command else { panic!() };
    assert_eq!(file, Path::new("f"));
    let Some(ConfigCommand::Import(args)) = config("config import f --data-dir d").command else { panic!() };
    assert_eq!((args.file.as_path(), args.table.store.data_dir.as_path()), (Path::new("f"), Path::new("d")));
    for line in
        ["config check", "config import", "config --data-dir d check f", "config check f --data-dir d"]
    {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn a_start_takes_a_file_or_the_table() {
    let source = |line: &str| parse(line).unwrap().run.source;
    assert_eq!((source("").config_file, source("").config_source), (None, SourceChoice::Auto));
    assert_eq!(source("--config-source table").config_source, SourceChoice::Table);
    assert_eq!(source("--config-source table").find().unwrap(), None);
    let missing = source("--config-file no/such/file.json").find().unwrap_err();
    assert!(missing.to_string().contains("--config-file"), "{missing}");
    let both = parse("--config-file f --config-source table").unwrap_err();
    assert_eq!(both.kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn tasks_and_events_take_a_thread() {
    let Some(Command::Tasks(args)) = parse("tasks hello").unwrap().command else { panic!() };
    assert_eq!(args.thread, "hello");
    assert_eq!(parse("events").unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
}

#[test]
fn the_demo_keeps_nothing_unless_told() {
    let Some(Command::Demo(args)) = parse("demo --crash").unwrap().command else { panic!() };
    assert!(args.crash && args.data_dir.is_none());
}

#[test]
fn help_does_not_show_the_poller_of_the_demo() {
    assert_eq!(parse("--version").unwrap_err().kind(), ErrorKind::DisplayVersion);
    let help = parse("--help").unwrap_err();
    assert_eq!(help.kind(), ErrorKind::DisplayHelp);
    assert!(!help.to_string().contains("demo-poller"));
}

#[test]
fn ports_are_numbers_of_ports() {
    for line in ["--port x", "--port 65536", "--example-port -1"] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn the_gateway_listens_on_this_machine_and_asks_for_keys_unless_told() {
    let cli = parse("").unwrap();
    assert!(cli.run.bind.is_loopback() && !cli.run.no_auth);
    let cli = parse("--bind 0.0.0.0 --no-auth").unwrap();
    assert!(!cli.run.bind.is_loopback() && cli.run.no_auth);
    assert!(parse("--bind everywhere").is_err());
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let keys = |line: &str| match parse(line).unwrap().command {
        Some(Command::Keys(command)) => command,
        _ => panic!(),
    };
    let KeysCommand::Create(args) =
        keys("keys create --name ci --user ann --role admin --servers a,b --data-dir d")
    else {
        panic!()
    };
    assert_eq!((args.name.as_str(), args.user.as_deref(), args.role), ("ci", Some("ann"), RoleChoice::Admin));
    assert_eq!(args.servers.unwrap(), ["a", "b"]);
    assert_eq!((args.table.aws, args.table.store.data_dir.as_path()), (false, Path::new("d")));
    let KeysCommand::Create(args) = keys("keys create --name ci --aws --table t") else { panic!() };
    assert_eq!((args.user, args.role, args.servers), (None, RoleChoice::User, None));
    assert_eq!((args.table.aws, args.table.store.table.as_str()), (true, "t"));
    assert!(matches!(keys("keys list"), KeysCommand::List(_)));
    assert!(matches!(keys("keys revoke abc"), KeysCommand::Revoke { id, .. } if id == "abc"));
    for line in [
        "keys",
        "keys create",
        "keys revoke",
        "keys create --name n --role boss",
        "keys list --aws --data-dir d",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
}
