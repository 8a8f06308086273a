// Package cloud opens and makes a store on DynamoDB and S3. Functions find in their environment where it is; package standard looks where every AWS
// tool does. It links no SQLite, and of AWS no more than a function needs at every start.
package cloud
