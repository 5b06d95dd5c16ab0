//! The worker processes, and what is done to them.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use pudu_app::ports::Clock;
use pudu_lambda::clock::SystemClock;
use pudu_testkit::SeededRandom;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::Role;
use crate::heard::Heard;

/// How many of each, and of what.
const MEMBERS: [Role; 5] = [Role::Poller, Role::Notifier, Role::Poller, Role::Notifier, Role::Poller];
/// One is killed this often.
const KILL_EVERY: Duration = Duration::from_secs(2);
/// One is stopped this often, and for longer than a lease: what it was waiting for comes back too late.
const STALL_EVERY: Duration = Duration::from_secs(9);
const STALLED_FOR: Duration = Duration::from_millis(6_500);
/// How long the workers may take to end when they are dismissed.
const GRACE: Duration = Duration::from_secs(2);

/// The workers.
pub(crate) struct Crew {
    environment: Vec<(&'static str, String)>,
    members: Vec<Member>,
    listening: JoinSet<()>,
    heard: Heard,
    /// What was done to them.
    pub(crate) done: Done,
}

/// What was done to workers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    /// Pollers that got a SIGKILL.
    pub(crate) pollers_killed: usize,
    /// Notifiers that got one.
    pub(crate) notifiers_killed: usize,
    /// Workers that were stopped for longer than a lease.
    pub(crate) stalls: usize,
}

/// One place in the crew, and the process that has it now.
struct Member {
    role: Role,
    number: usize,
    process: Child,
    /// Its end tells the process that we are gone.
    lifeline: Option<ChildStdin>,
    /// Until when it is stopped.
    stalled: Option<Instant>,
}

impl Crew {
    /// Starts all of them, each with this environment and nothing else.
    pub(crate) fn start(environment: Vec<(&'static str, String)>, heard: Heard) -> anyhow::Result<Self> {
        let mut crew = Self {
            environment,
            members: Vec::new(),
            listening: JoinSet::new(),
            heard,
            done: Done::default(),
        };
        for (number, role) in MEMBERS.into_iter().enumerate() {
            let member = crew.spawn(role, number)?;
            crew.members.push(member);
        }
        Ok(crew)
    }

    /// Kills and stops workers for as long as `rough`; those that were stopped go on afterwards.
    ///
    /// To be awaited on the main thread and not in a task: a worker ends with the thread that started it.
    pub(crate) async fn endure(&mut self, rough: Duration, random: &SeededRandom) -> anyhow::Result<()> {
        let over = Instant::now() + rough;
        let mut kill = Instant::now() + KILL_EVERY;
        let mut stall = Instant::now() + STALL_EVERY / 2;
        while Instant::now() < over {
            let next = kill.min(stall).min(over);
            let resume = self.members.iter().filter_map(|member| member.stalled).min();
            let next = resume.map_or(next, |at| at.min(next));
            SystemClock.sleep(next.saturating_duration_since(Instant::now())).await;
            let now = Instant::now();
            self.resume(now)?;
            if now >= kill && now < over {
                kill += KILL_EVERY;
                self.kill(random).await?;
            }
            if now >= stall && now < over {
                stall += STALL_EVERY;
                self.stall(random, now)?;
            }
        }
        self.resume(over + STALLED_FOR)
    }

    async fn kill(&mut self, random: &SeededRandom) -> anyhow::Result<()> {
        let role = if random.chance(50) { Role::Poller } else { Role::Notifier };
        let of_role: Vec<usize> = self.of(|member| member.role == role);
        let Some(&at) = random.pick(&of_role) else { return Ok(()) };
        let Some(victim) = self.members.get_mut(at) else { return Ok(()) };
        let died = victim.process.try_wait().context("a worker cannot be looked at")?;
        anyhow::ensure!(died.is_none(), "a {role:?} ended by itself: {died:?}");
        victim.process.kill().await.context("a worker cannot be killed")?;
        match role {
            Role::Poller => self.done.pollers_killed += 1,
            Role::Notifier => self.done.notifiers_killed += 1,
        }
        let member = self.spawn(role, at)?;
        if let Some(place) = self.members.get_mut(at) {
            *place = member;
        }
        Ok(())
    }

    /// Pollers mostly: a notifier waits for nobody, so it is rarely caught with a claim.
    fn stall(&mut self, random: &SeededRandom, now: Instant) -> anyhow::Result<()> {
        let role = if random.chance(75) { Role::Poller } else { Role::Notifier };
        let running = self.of(|member| member.role == role && member.stalled.is_none());
        let Some(&at) = random.pick(&running) else { return Ok(()) };
        let Some(member) = self.members.get_mut(at) else { return Ok(()) };
        member.signal(Signal::STOP)?;
        member.stalled = Some(now + STALLED_FOR);
        self.done.stalls += 1;
        Ok(())
    }

    fn resume(&mut self, now: Instant) -> anyhow::Result<()> {
        for member in self.members.iter_mut().filter(|member| member.stalled.is_some_and(|at| at <= now)) {
            member.stalled = None;
            member.signal(Signal::CONT)?;
        }
        Ok(())
    }

    fn of(&self, wanted: impl Fn(&Member) -> bool) -> Vec<usize> {
        let places = self.members.iter().enumerate();
        places.filter(|(_, member)| wanted(member)).map(|(at, _)| at).collect()
    }

    fn spawn(&mut self, role: Role, number: usize) -> anyhow::Result<Member> {
        let word = match role {
            Role::Poller => "poller",
            Role::Notifier => "notifier",
        };
        let program = std::env::current_exe().context("the path of this program is not known")?;
        let mut process = Command::new(program)
            .args(["--role", word, "--name", &format!("{word}-{number}")])
            // Nothing of this process's environment: a profile or a session of the user's would go with our endpoint.
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("a {word} cannot be started"))?;
        let lifeline = process.stdin.take();
        let log = process.stderr.take().context("a worker has no log")?;
        self.listening.spawn(self.heard.clone().listen(log));
        Ok(Member { role, number, process, lifeline, stalled: None })
    }

    /// Ends all of them, and returns when everything that they said is heard.
    pub(crate) async fn dismiss(mut self) -> anyhow::Result<Done> {
        for member in &mut self.members {
            let died = member.process.try_wait().context("a worker cannot be looked at")?;
            anyhow::ensure!(died.is_none(), "{:?} {} ended by itself: {died:?}", member.role, member.number);
            member.lifeline = None;
        }
        for member in &mut self.members {
            if tokio::time::timeout(GRACE, member.process.wait()).await.is_err() {
                member.process.kill().await.context("a worker cannot be killed")?;
            }
        }
        while self.listening.join_next().await.is_some() {}
        Ok(self.done)
    }
}

impl Member {
    /// Only ever to a process that has not been waited for: until then its number is nobody else's.
    fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(pid.context("a worker has ended")?, signal).context("a worker cannot be signalled")
    }
}
