//! Pictures in a message, in whichever of the usual forms they stand there. The data is passed on as it is.

use serde_json::{Value, json};

/// A picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Picture<'a> {
    /// Base64.
    Data { media_type: &'a str, data: &'a str },
    /// Somewhere else.
    Url(&'a str),
}

impl<'a> Picture<'a> {
    /// The picture of a block, if it is one.
    pub(crate) fn of(block: &'a Value) -> Option<Self> {
        let at = |path: &str| block.pointer(path).and_then(Value::as_str);
        match block.get("type")?.as_str()? {
            "image_url" => Some(Self::at(at("/image_url/url").or_else(|| at("/image_url"))?)),
            "image" => {
                let url = at("/source/url").or_else(|| at("/url"));
                let data = at("/source/data").or_else(|| at("/base64")).or_else(|| at("/data"));
                let kind = at("/source/media_type").or_else(|| at("/mime_type")).or_else(|| at("/mimeType"));
                match (data, url) {
                    (Some(data), _) => {
                        Some(Self::Data { media_type: known(kind.unwrap_or("image/png")), data })
                    }
                    (None, Some(url)) => Some(Self::at(url)),
                    (None, None) => None,
                }
            }
            _ => None,
        }
    }

    fn at(url: &'a str) -> Self {
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        data.map_or(Self::Url(url), |(media_type, data)| Self::Data { media_type: known(media_type), data })
    }

    /// As one URL.
    pub(crate) fn url(self) -> String {
        match self {
            Self::Data { media_type, data } => format!("data:{media_type};base64,{data}"),
            Self::Url(url) => url.to_owned(),
        }
    }

    /// As Anthropic's block.
    pub(crate) fn block(self) -> Value {
        match self {
            Self::Data { media_type, data } => {
                json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
            }
            Self::Url(url) => json!({"type": "image", "source": {"type": "url", "url": url}}),
        }
    }
}

/// A name that everybody writes and no provider knows.
fn known(media_type: &str) -> &str {
    if media_type == "image/jpg" { "image/jpeg" } else { media_type }
}
