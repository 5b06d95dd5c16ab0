//! Breadth first, until there is no state that was not seen; then backwards from the ends.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};

use super::images::Images;
use super::state::State;
use super::steps::{Step, is_end};
use super::write::{Broken, ENDLESS, Rules};
use super::{Bent, Bounds, Counterexample, Found};

/// How a state was first reached: from which one, and its distance from the beginning.
#[derive(Debug, Clone, Copy)]
struct Reached {
    from: u32,
    step: Step,
    depth: u32,
}

struct Search {
    ids: HashMap<State, u32>,
    reached: Vec<Reached>,
    /// Who leads to whom.
    edges: Vec<(u32, u32)>,
    ends: Vec<u32>,
    found: Found,
    seen: BTreeSet<Broken>,
}

/// Searches every state within the bounds. The error says that there are more than the bounds allow.
pub fn check(bounds: &Bounds, bent: Option<Bent>) -> Result<Found, String> {
    let (images, intent) = Images::new(bent);
    let mut rules = Rules { images, bent };
    let mut search = Search {
        ids: HashMap::new(),
        reached: Vec::new(),
        edges: Vec::new(),
        ends: Vec::new(),
        found: Found::default(),
        seen: BTreeSet::new(),
    };
    let first = State::first(intent, bounds);
    let mut queue = VecDeque::from([(0, first)]);
    search.ids.insert(first, 0);
    search.reached.push(Reached { from: 0, step: Step::TimePasses, depth: 0 });
    while let Some((id, state)) = queue.pop_front() {
        if is_end(&rules, &state) {
            search.ends.push(id);
        }
        for (step, next) in rules.next(&state, bounds) {
            match next {
                Ok(next) => {
                    if let Some(new) = search.reach(id, step, next) {
                        queue.push_back((new, next));
                    }
                }
                Err(property) => search.broken(property, id, Some(step)),
            }
        }
        // Of bent rules one thing that they break is enough.
        if bent.is_some() && !search.found.broken.is_empty() {
            return Ok(search.found);
        }
        if search.reached.len() > bounds.states {
            return Err(format!("more than {} states", bounds.states));
        }
    }
    search.ends_are_reachable();
    search.found.states = search.reached.len();
    search.found.steps = search.edges.len();
    search.found.decisions = rules.images.decisions();
    Ok(search.found)
}

impl Search {
    /// The state's number if it is new.
    fn reach(&mut self, from: u32, step: Step, state: State) -> Option<u32> {
        let fresh = u32::try_from(self.reached.len()).unwrap_or(u32::MAX);
        match self.ids.entry(state) {
            Entry::Occupied(known) => {
                self.edges.push((from, *known.get()));
                None
            }
            Entry::Vacant(place) => {
                place.insert(fresh);
                let depth = self.at(from).depth + 1;
                self.found.depth = self.found.depth.max(depth as usize);
                self.reached.push(Reached { from, step, depth });
                self.edges.push((from, fresh));
                Some(fresh)
            }
        }
    }

    fn at(&self, id: u32) -> Reached {
        let reached = self.reached.get(id as usize).copied();
        reached.unwrap_or_else(|| unreachable!("a state without a number"))
    }

    /// Keeps the first counterexample of each property: the search is breadth first, so it is a shortest one.
    fn broken(&mut self, property: Broken, at: u32, last: Option<Step>) {
        if !self.seen.insert(property) {
            return;
        }
        let mut steps: Vec<String> = last.iter().map(|step| format!("{step:?}")).collect();
        let mut id = at;
        while id != 0 {
            let Reached { from, step, .. } = self.at(id);
            steps.push(format!("{step:?}"));
            id = from;
        }
        steps.reverse();
        self.found.broken.push(Counterexample { property, steps });
    }

    /// Whether an end can be reached from every state: a search backwards from all ends.
    fn ends_are_reachable(&mut self) {
        let states = self.reached.len();
        // Who leads here, as one array that is ordered by the target.
        self.edges.sort_unstable_by_key(|(_, to)| *to);
        let mut first = vec![0_usize; states + 1];
        for (_, to) in &self.edges {
            if let Some(count) = first.get_mut(*to as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut good = vec![false; states];
        let mut stack = self.ends.clone();
        while let Some(id) = stack.pop() {
            let at = id as usize;
            if good.get(at).copied().unwrap_or(true) {
                continue;
            }
            if let Some(good) = good.get_mut(at) {
                *good = true;
            }
            let range = first.get(at).copied().unwrap_or(0)..first.get(at + 1).copied().unwrap_or(0);
            stack.extend(self.edges.get(range).unwrap_or_default().iter().map(|(from, _)| *from));
        }
        if let Some(stuck) = good.iter().position(|good| !good) {
            self.broken(ENDLESS, u32::try_from(stuck).unwrap_or(u32::MAX), None);
        }
    }
}
