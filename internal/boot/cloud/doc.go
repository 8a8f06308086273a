// Package cloud opens and makes a store on DynamoDB and S3, as the standard configuration of AWS says: region, credentials, profile and
// endpoints come from where every AWS tool looks. It links no SQLite, so that functions can use it.
package cloud
