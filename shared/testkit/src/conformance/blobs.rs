//! Blobs: what was written is read, by its thread and its digest; nothing of another thread goes with it. A suite of its own, because
//! blobs are in no table.

use std::sync::Arc;

use pudu_app::ports::Blobs;
use pudu_domain::{ThreadId, ThreadKey, UserId};

use super::life::fail;

/// Runs every case against `blobs`, which is empty. Panics where it is wrong.
pub async fn blobs(blobs: Arc<dyn Blobs>) {
    let blobs = blobs.as_ref();
    what_was_never_written_is_none(blobs).await;
    what_was_written_is_read_as_it_was(blobs).await;
    writing_twice_is_writing_once(blobs).await;
    threads_do_not_see_each_others(blobs).await;
    a_threads_blobs_go_with_it_and_no_others(blobs).await;
    many_go_together(blobs).await;
    what_is_no_digest_is_refused(blobs).await;
}

fn thread(user: &str, name: &str) -> ThreadKey {
    let user = UserId::parse(user).unwrap_or_else(|error| fail(&error));
    ThreadKey { user, thread: ThreadId::parse(name).unwrap_or_else(|error| fail(&error)) }
}

fn digest(number: u32) -> String {
    format!("{number:064x}")
}

async fn put(blobs: &dyn Blobs, thread: &ThreadKey, number: u32, bytes: &[u8]) {
    blobs.put(thread, &digest(number), bytes.to_vec()).await.unwrap_or_else(|error| fail(&error));
}

async fn get(blobs: &dyn Blobs, thread: &ThreadKey, number: u32) -> Option<Vec<u8>> {
    blobs.get(thread, &digest(number)).await.unwrap_or_else(|error| fail(&error))
}

async fn what_was_never_written_is_none(blobs: &dyn Blobs) {
    let thread = thread("a:never", "t");
    assert_eq!(get(blobs, &thread, 1).await, None);
    blobs.remove_all(&thread).await.unwrap_or_else(|error| fail(&error));
}

/// Nothing at all, every byte, and more than a row of the table holds.
async fn what_was_written_is_read_as_it_was(blobs: &dyn Blobs) {
    let thread = thread("a:read", "t");
    let all: Vec<u8> = (0..=u8::MAX).collect();
    let large: Vec<u8> = all.iter().copied().cycle().take(3 * 1024 * 1024).collect();
    for (number, bytes) in [(1, Vec::new()), (2, all), (3, large)] {
        put(blobs, &thread, number, &bytes).await;
        assert!(get(blobs, &thread, number).await == Some(bytes), "blob {number} is another one");
    }
}

async fn writing_twice_is_writing_once(blobs: &dyn Blobs) {
    let thread = thread("a:twice", "t");
    put(blobs, &thread, 1, b"same").await;
    put(blobs, &thread, 1, b"same").await;
    assert_eq!(get(blobs, &thread, 1).await.as_deref(), Some(b"same".as_slice()));
}

/// Also of names that only look alike once a part of them is read as a separator.
async fn threads_do_not_see_each_others(blobs: &dyn Blobs) {
    let mine = thread("a:b/c", "t");
    put(blobs, &mine, 1, b"mine").await;
    for other in [thread("a:b", "c"), thread("a:b/C", "t"), thread("a:b/c", "T"), thread("a:b%2Fc", "t")] {
        assert_eq!(get(blobs, &other, 1).await, None, "{other:?}");
    }
    assert_eq!(get(blobs, &mine, 2).await, None);
}

async fn a_threads_blobs_go_with_it_and_no_others(blobs: &dyn Blobs) {
    let (gone, longer, other) = (thread("a:gone", "t"), thread("a:gone", "t2"), thread("a:go", "t"));
    for thread in [&gone, &longer, &other] {
        put(blobs, thread, 1, b"x").await;
        put(blobs, thread, 2, b"y").await;
    }
    blobs.remove_all(&gone).await.unwrap_or_else(|error| fail(&error));
    assert_eq!((get(blobs, &gone, 1).await, get(blobs, &gone, 2).await), (None, None));
    for thread in [&longer, &other] {
        assert_eq!(get(blobs, thread, 2).await.as_deref(), Some(b"y".as_slice()), "{thread:?}");
    }
    put(blobs, &gone, 1, b"again").await;
    assert_eq!(get(blobs, &gone, 1).await.as_deref(), Some(b"again".as_slice()));
}

/// More than a page of a list.
async fn many_go_together(blobs: &dyn Blobs) {
    let thread = thread("a:many", "t");
    for number in 0..40 {
        put(blobs, &thread, number, b"x").await;
    }
    blobs.remove_all(&thread).await.unwrap_or_else(|error| fail(&error));
    for number in 0..40 {
        assert_eq!(get(blobs, &thread, number).await, None);
    }
}

async fn what_is_no_digest_is_refused(blobs: &dyn Blobs) {
    let thread = thread("a:names", "t");
    for bad in ["", "../escape", "x", &"AB".repeat(32), &"ab".repeat(33)] {
        assert!(blobs.put(&thread, bad, b"x".to_vec()).await.is_err(), "{bad:?} was taken for a digest");
    }
}
