//! What outlives a run outside of the cluster: objects in S3, and short-lived facts in one DynamoDB table.
//!
//! The table's partition key is `kind`, its sort key `key`, both texts; `value` is JSON, `until` the second from which
//! the fact doesn't hold any more, by which DynamoDB deletes it some time later.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use catalog::Ec2Catalogue;
use jiff::{SignedDuration, Timestamp};
use model::{Avoided, CapacityType};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::failed;
use crate::{Cloud, CloudError};

/// The kind of facts about what not to buy from.
const AVOIDED: &str = "avoided";
/// The kind of facts about Spot that was short or taken back.
const UNSTEADY: &str = "unsteady";
/// So long Spot that was short or taken back is taken for unsteady, from when it may be bought again.
const UNSTEADY_FOR: SignedDuration = SignedDuration::from_hours(24);

/// An object as it was read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Object {
    /// What it holds.
    pub body: Vec<u8>,
    /// What tells it from what it holds at other times.
    pub etag: String,
}

/// What became of reading an object that may have been read before.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Fetched<T> {
    /// It still is what it was.
    Unchanged,
    /// There is none.
    Absent,
    /// What it holds now.
    New(T),
}

/// A catalogue as it was read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct StoredCatalogue {
    /// The catalogue.
    pub catalogue: Ec2Catalogue,
    /// What tells it from others.
    pub etag: String,
}

/// The key of a Region's catalogue in the bucket.
fn catalogue_key(region: &str) -> String {
    format!("catalogue/{region}.postcard.zst")
}

impl Cloud {
    /// Writes an object.
    pub async fn put_object(
        &self,
        bucket: &str,
        key: &str,
        body: Vec<u8>,
        content_type: &str,
    ) -> Result<(), CloudError> {
        let request = self.s3.put_object().bucket(bucket).key(key).content_type(content_type);
        request.body(body.into()).send().await.map_err(failed("PutObject"))?;
        Ok(())
    }

    /// Reads an object, unless it still is what `etag` stands for.
    pub async fn get_object(
        &self,
        bucket: &str,
        key: &str,
        etag: Option<&str>,
    ) -> Result<Fetched<Object>, CloudError> {
        let operation = "GetObject";
        let request = self.s3.get_object().bucket(bucket).key(key).set_if_none_match(etag.map(str::to_owned));
        let answer = match request.send().await {
            Ok(answer) => answer,
            Err(error) if error.raw_response().is_some_and(|answer| answer.status().as_u16() == 304) => {
                return Ok(Fetched::Unchanged);
            }
            Err(error) => match failed(operation)(error) {
                error if error.is_not_found() => return Ok(Fetched::Absent),
                error => return Err(error),
            },
        };
        let etag = answer.e_tag().unwrap_or_default().to_owned();
        let body = answer.body.collect().await.map_err(|error| CloudError::Request {
            operation,
            code: String::new(),
            message: error.to_string(),
        })?;
        Ok(Fetched::New(Object { body: body.to_vec(), etag }))
    }

    /// Writes the Region's catalogue.
    pub async fn put_catalogue(&self, bucket: &str, catalogue: &Ec2Catalogue) -> Result<(), CloudError> {
        let key = catalogue_key(&catalogue.region);
        let body = catalog::encode(catalogue)
            .map_err(|error| CloudError::Stored { place: key.clone(), message: error.to_string() })?;
        self.put_object(bucket, &key, body, "application/octet-stream").await
    }

    /// Reads the Region's catalogue, unless it still is what `etag` stands for.
    pub async fn get_catalogue(
        &self,
        bucket: &str,
        etag: Option<&str>,
    ) -> Result<Fetched<StoredCatalogue>, CloudError> {
        let key = catalogue_key(self.region());
        match self.get_object(bucket, &key, etag).await? {
            Fetched::Unchanged => Ok(Fetched::Unchanged),
            Fetched::Absent => Ok(Fetched::Absent),
            Fetched::New(Object { body, etag }) => match catalog::decode(&body) {
                Ok(catalogue) => Ok(Fetched::New(StoredCatalogue { catalogue, etag })),
                Err(error) => Err(CloudError::Stored {
                    place: format!("s3://{bucket}/{key}"),
                    message: error.to_string(),
                }),
            },
        }
    }

    /// Keeps a fact. One that is kept already under this key is replaced only by one that holds longer.
    pub async fn remember<T: Serialize>(
        &self,
        table: &str,
        kind: &str,
        key: &str,
        value: &T,
        until: Timestamp,
    ) -> Result<(), CloudError> {
        let value = serde_json::to_string(value).map_err(|error| CloudError::Stored {
            place: format!("{table}/{kind}/{key}"),
            message: error.to_string(),
        })?;
        // The first second at which it doesn't hold.
        let until = until.as_second() + i64::from(until.subsec_nanosecond() > 0);
        let request = self
            .dynamodb
            .update_item()
            .table_name(table)
            .key("kind", AttributeValue::S(kind.to_owned()))
            .key("key", AttributeValue::S(key.to_owned()))
            .update_expression("SET #value = :value, #until = :until")
            .condition_expression("attribute_not_exists(#until) OR #until <= :until")
            .expression_attribute_names("#value", "value")
            .expression_attribute_names("#until", "until")
            .expression_attribute_values(":value", AttributeValue::S(value))
            .expression_attribute_values(":until", AttributeValue::N(until.to_string()));
        match request.send().await.map_err(failed("UpdateItem")) {
            Err(error) if error.code() != "ConditionalCheckFailedException" => Err(error),
            _ => Ok(()),
        }
    }

    /// The facts of a kind that hold at `now`, by key.
    pub async fn remembered<T: DeserializeOwned>(
        &self,
        table: &str,
        kind: &str,
        now: Timestamp,
    ) -> Result<BTreeMap<String, Fact<T>>, CloudError> {
        let mut pages = self
            .dynamodb
            .query()
            .table_name(table)
            .key_condition_expression("#kind = :kind")
            .filter_expression("#until > :now")
            .expression_attribute_names("#kind", "kind")
            .expression_attribute_names("#until", "until")
            .expression_attribute_values(":kind", AttributeValue::S(kind.to_owned()))
            .expression_attribute_values(":now", AttributeValue::N(now.as_second().to_string()))
            .into_paginator()
            .items()
            .send();
        let mut out = BTreeMap::new();
        while let Some(item) = pages.next().await {
            let item = item.map_err(failed("Query"))?;
            let (key, fact) = fact(&item)
                .map_err(|message| CloudError::Stored { place: format!("{table}/{kind}"), message })?;
            out.insert(key, fact);
        }
        Ok(out)
    }

    /// Forgets a fact.
    pub async fn forget(&self, table: &str, kind: &str, key: &str) -> Result<(), CloudError> {
        let request = self
            .dynamodb
            .delete_item()
            .table_name(table)
            .key("kind", AttributeValue::S(kind.to_owned()))
            .key("key", AttributeValue::S(key.to_owned()));
        request.send().await.map_err(failed("DeleteItem"))?;
        Ok(())
    }

    /// Keeps in mind not to buy there until then; a longer time that is kept already stands. That a Spot offering was
    /// avoided is known for a day more.
    pub async fn avoid(&self, table: &str, what: &Avoided, until: Timestamp) -> Result<(), CloudError> {
        let key = avoided_key(what);
        self.remember(table, &avoided_kind(self.region()), &key, what, until).await?;
        match what {
            Avoided::Offering { capacity_type: CapacityType::Spot, .. } => {
                self.remember(table, &unsteady_kind(self.region()), &key, what, until + UNSTEADY_FOR).await
            }
            _ => Ok(()),
        }
    }

    /// Spot offerings of this Region that were avoided within a day.
    pub async fn unsteady(&self, table: &str, now: Timestamp) -> Result<Vec<Fact<Avoided>>, CloudError> {
        let facts = self.remembered(table, &unsteady_kind(self.region()), now).await?;
        Ok(facts.into_values().collect())
    }

    /// What not to buy from at `now`, in this Region.
    pub async fn avoided(&self, table: &str, now: Timestamp) -> Result<Vec<Fact<Avoided>>, CloudError> {
        let facts = self.remembered(table, &avoided_kind(self.region()), now).await?;
        Ok(facts.into_values().collect())
    }
}

/// A fact and when it ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fact<T> {
    /// The fact.
    pub value: T,
    /// When it doesn't hold any more.
    pub until: Timestamp,
}

fn fact<T: DeserializeOwned>(
    item: &std::collections::HashMap<String, AttributeValue>,
) -> Result<(String, Fact<T>), String> {
    let text = |name: &str| {
        let text = item.get(name).and_then(|value| value.as_s().ok());
        text.ok_or_else(|| format!("{name} is no text"))
    };
    let until = item.get("until").and_then(|value| value.as_n().ok()).and_then(|text| text.parse().ok());
    let until = until.and_then(|second| Timestamp::from_second(second).ok()).ok_or("until is no time")?;
    let value = serde_json::from_str(text("value")?).map_err(|error| error.to_string())?;
    Ok((text("key")?.clone(), Fact { value, until }))
}

fn unsteady_kind(region: &str) -> String {
    format!("{UNSTEADY}/{region}")
}

fn avoided_kind(region: &str) -> String {
    format!("{AVOIDED}/{region}")
}

fn avoided_key(what: &Avoided) -> String {
    match what {
        Avoided::Offering { instance_type, zone, capacity_type } => {
            format!("offering/{capacity_type}/{instance_type}/{zone}")
        }
        Avoided::InPlacementGroup { group, instance_type, zone, capacity_type } => {
            format!("placement-group/{group}/{capacity_type}/{instance_type}/{zone}")
        }
        Avoided::CapacityType(capacity_type) => format!("capacity-type/{capacity_type}"),
        Avoided::Subnet(id) => format!("subnet/{id}"),
        Avoided::Reservation(id) => format!("reservation/{id}"),
    }
}
