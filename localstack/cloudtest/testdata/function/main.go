// Command function is the least that a function in the cloud links: the store, the SDK with its turn, and the HTTP service. It is built to be
// weighed.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/stepwell-dev/stepwell/pkg/agent"
	"github.com/stepwell-dev/stepwell/pkg/dynstore"
	"github.com/stepwell-dev/stepwell/pkg/httpapi"
	"github.com/stepwell-dev/stepwell/pkg/llm"
	"github.com/stepwell-dev/stepwell/pkg/llm/scripted"
	"github.com/stepwell-dev/stepwell/pkg/s3objects"
	"github.com/stepwell-dev/stepwell/pkg/sdk"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	st, err := dynstore.New(dynstore.Options{
		Client: dynamodb.NewFromConfig(cfg), Table: os.Getenv("TABLE"), Tenant: os.Getenv("TENANT"),
		Bodies: s3objects.New(s3objects.Options{Client: s3.NewFromConfig(cfg), Bucket: os.Getenv("BUCKET")}),
	})
	if err != nil {
		log.Fatal(err)
	}
	models := llm.NewCatalog(scripted.New(scripted.Options{}))
	model := llm.Model{Provider: scripted.ProviderName, ID: scripted.ModelID}
	host, err := sdk.New(sdk.Options{Store: st, Models: models, DefaultModel: model, Turn: agent.New(agent.Options{Models: models, DefaultModel: model})})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: os.Getenv("ADDR"), Handler: httpapi.New(host, nil), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
