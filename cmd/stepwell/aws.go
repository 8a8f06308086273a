package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell-dev/stepwell/internal/boot"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud"
	"github.com/stepwell-dev/stepwell/internal/boot/cloud/standard"
)

func (a *app) awsCommand() *cobra.Command {
	c := &cobra.Command{Use: "aws", Short: "Make a store in the cloud", Long: "Make and look after a store on DynamoDB and S3."}
	c.AddCommand(a.awsInitCommand())
	for _, sub := range c.Commands() {
		sub.Long = withCodes(sub)
	}
	return c
}

func (a *app) awsInitCommand() *cobra.Command {
	var table, bucket, endpoint string
	c := &cobra.Command{
		Use:   "init",
		Short: "Make the table and the bucket of a store where they are missing",
		Long: `Init makes a DynamoDB table and an S3 bucket for a store, and says what it made and what was there. Doing it again is
harmless. It refuses a table that has other keys. The bucket is closed to the public and keeps versions.

Region, credentials and endpoints are those of every AWS tool: AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL and the rest.
Without --table and --bucket it makes what --store or ` + boot.EnvStore + ` names.`,
		Example: `  stepwell aws init --table stepwell --bucket stepwell-bodies-1234
  stepwell aws init --table stepwell --bucket bodies --endpoint http://127.0.0.1:4566
  STEPWELL_STORE='dynamodb://stepwell?bucket=bodies' stepwell aws init`,
		Args: cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ []string) error {
			at, err := a.awsLocation(table, bucket)
			if err != nil {
				return err
			}
			if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || !strings.HasPrefix(u.Scheme, "http") || u.Host == "") {
				return usage("--endpoint is %q; want a URL such as http://127.0.0.1:4566", endpoint)
			}
			clients, err := standard.Connect(ctx, endpoint)
			if err != nil {
				return err
			}
			made, err := clients.Init(ctx, at)
			if err != nil {
				return err
			}
			return a.outcome(made, exitOK, "table   %s  %s\nbucket  %s  %s\nUse them with %s='%s'", made.Table, madeOrFound(made.TableCreated),
				made.Bucket, madeOrFound(made.BucketCreated), boot.EnvStore, made.Store)
		}),
	}
	c.Flags().StringVar(&table, "table", "", "name of the DynamoDB table")
	c.Flags().StringVar(&bucket, "bucket", "", "name of the S3 bucket for large bodies")
	c.Flags().StringVar(&endpoint, "endpoint", "", "where DynamoDB and S3 answer (env AWS_ENDPOINT_URL; default AWS itself)")
	return c
}

// awsLocation returns what the flags name, or else the configuration.
func (a *app) awsLocation(table, bucket string) (cloud.Location, error) {
	if table == "" && bucket == "" {
		c, err := a.config(nil)
		if err != nil {
			return cloud.Location{}, err
		}
		if c.Cloud != nil {
			return *c.Cloud, nil
		}
	}
	if table == "" || bucket == "" {
		return cloud.Location{}, usage("which table and bucket? Give --table and --bucket, or %s='%sTABLE?bucket=BUCKET'", boot.EnvStore, cloud.Scheme)
	}
	at, err := cloud.ParseLocation(fmt.Sprintf("%s%s?bucket=%s", cloud.Scheme, url.PathEscape(table), url.QueryEscape(bucket)))
	if err != nil {
		return cloud.Location{}, usage("--table %s, --bucket %s: the store %w", table, bucket, err)
	}
	return at, nil
}

func madeOrFound(made bool) string {
	if made {
		return "created"
	}
	return "was there"
}
