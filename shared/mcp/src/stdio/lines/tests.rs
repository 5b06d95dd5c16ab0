use super::*;

async fn all(bytes: &[u8], most: usize) -> Vec<Line> {
    // With the smallest buffer every boundary falls between two reads, with a large one none does.
    let mut found = [Vec::new(), Vec::new()];
    for (found, capacity) in found.iter_mut().zip([1, 1000]) {
        let mut lines = Lines::new(tokio::io::BufReader::with_capacity(capacity, bytes), most);
        while let Some(line) = lines.next().await.expect("bytes in memory") {
            found.push(line);
        }
    }
    let [small, large] = found;
    assert_eq!(small, large);
    small
}

fn whole(text: &str) -> Line {
    Line::Whole(text.as_bytes().to_vec())
}

#[tokio::test]
async fn lines_come_without_their_ends_and_the_last_one_may_lack_it() {
    assert_eq!(all(b"a\n\nbc", 9).await, [whole("a"), whole(""), whole("bc")]);
    assert_eq!(all(b"", 9).await, []);
    assert_eq!(all(b"a\n", 9).await, [whole("a")]);
}

#[tokio::test]
async fn a_line_over_the_bound_is_cut_and_the_next_one_is_whole() {
    let cut = |text: &str| Line::Cut(text.as_bytes().to_vec());
    assert_eq!(all(b"abcd\nabc\nabcdefg", 3).await, [cut("abc"), whole("abc"), cut("abc")]);
    assert_eq!(all(b"abcdefg\n\nabc", 3).await, [cut("abc"), whole(""), whole("abc")]);
}
