//! Params by method: `prompts/get` in one typed pass, the rest member by member.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::arguments::RequestArguments;
use crate::error::Refusal;
use crate::id;
use crate::meta::Meta;

/// The params of `prompts/get`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct GetParams<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<ObjectMembers<Meta<'a>>>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<RequestArguments<'a>>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(crate) input_responses: Option<&'a RawValue>,
}

/// The members of the other methods. `null` counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ParamFields<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(crate) meta: Option<ObjectMembers<Meta<'a>>>,
    #[serde(borrow, default)]
    pub(crate) argument: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) client_info: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) cursor: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) notifications: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    pub(crate) reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) request_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) uri: Option<&'a RawValue>,
}

/// Reads params, or any other object; a missing one counts as empty.
pub(crate) fn read<'a, T: Deserialize<'a> + Default>(
    json: Option<&'a RawValue>,
) -> Result<T, Refusal> {
    let Some(json) = json else {
        return Ok(T::default());
    };
    serde_json::from_str(json.get())
        .map(|ObjectMembers(members)| members)
        .map_err(|error| Refusal::Params(format!("The params are malformed: {error}")))
}

/// Members that were written as an object: a derived struct would accept a list as well.
#[derive(Debug, Default)]
pub(crate) struct ObjectMembers<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectMembers<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = ObjectMembers<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(ObjectMembers)
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// A member that has to be a string.
pub(crate) fn text<'a>(
    member: Option<&'a RawValue>,
    name: &'static str,
) -> Result<Cow<'a, str>, Refusal> {
    member
        .and_then(|json| id::decode(json.get()))
        .ok_or_else(|| Refusal::Params(format!("`{name}` must be a string")))
}

/// A member that has to be an object, or absent if that is allowed.
pub(crate) fn check_object(member: Option<&RawValue>, name: &'static str) -> Result<(), Refusal> {
    match member {
        Some(json) if !json.get().starts_with('{') => {
            Err(Refusal::Params(format!("`{name}` must be an object")))
        }
        _ => Ok(()),
    }
}
