package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	api "github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// What one account's API takes a second from all its clients together. It is a bound on cost, not on a client.
const (
	rate  = 500
	burst = 1000
)

// An httpAPI is where clients come in: requests by the API, and streams of events by the URL of a function, since the API has none.
type httpAPI struct {
	api    api.HttpApi
	events awslambda.FunctionUrl
	domain api.DomainName // nil without one
}

func (c *Compute) newAPI() httpAPI {
	h := httpAPI{api: api.NewHttpApi(c.Stack, jsii.String("Api"), &api.HttpApiProps{
		Description: jsii.String("Stepwell " + c.config.Stage), CreateDefaultStage: jsii.Bool(false),
	})}
	authorizer := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Tokens"), &c.config.JWTIssuer,
		&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings(c.config.JWTAudience...)})
	all := c.functions.all()
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		// One permission for each function: one for each route would not fit into a function's policy.
		to := awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String(title(name)), all[name],
			&awsapigatewayv2integrations.HttpLambdaIntegrationProps{
				ScopePermissionToRoute: jsii.Bool(false), Timeout: awscdk.Duration_Seconds(jsii.Number(29)),
			})
		for _, route := range routes[name] {
			method, path, _ := strings.Cut(route, " ")
			h.api.AddRoutes(&api.AddRoutesOptions{
				Path: &path, Methods: &[]api.HttpMethod{api.HttpMethod(method)}, Integration: to, Authorizer: authorizer,
			})
		}
	}
	if c.config.Domain != "" {
		h.domain = api.NewDomainName(c.Stack, jsii.String("Domain"), &api.DomainNameProps{
			DomainName:  &c.config.Domain,
			Certificate: awscertificatemanager.Certificate_FromCertificateArn(c.Stack, jsii.String("Certificate"), &c.config.CertificateARN),
		})
	}
	c.newStage(h)
	// Anyone may ask: the function verifies the token itself, as no gateway stands before it.
	h.events = c.functions.events.AddFunctionUrl(&awslambda.FunctionUrlOptions{
		AuthType: awslambda.FunctionUrlAuthType_NONE, InvokeMode: awslambda.InvokeMode_RESPONSE_STREAM,
	})
	return h
}

// newStage serves the API at the root, with a line in the log for each request.
func (c *Compute) newStage(h httpAPI) {
	props := &api.HttpStageProps{
		HttpApi: h.api, StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true), DetailedMetricsEnabled: jsii.Bool(true),
		Throttle: &api.ThrottleSettings{RateLimit: jsii.Number(rate), BurstLimit: jsii.Number(burst)},
	}
	if h.domain != nil {
		props.DomainMapping = &api.DomainMappingOptions{DomainName: h.domain}
	}
	stage := api.NewHttpStage(c.Stack, jsii.String("Stage"), props)
	logs := c.newLogs("ApiLogs")
	// The stage itself takes no format.
	low, ok := stage.Node().DefaultChild().(api.CfnStage)
	if !ok {
		panic("the CDK made a stage of something else")
	}
	low.SetAccessLogSettings(&api.CfnStage_AccessLogSettingsProperty{
		DestinationArn: logs.LogGroupArn(),
		// Neither tokens nor texts: the path has ids alone.
		Format: jsii.String(`{"requestId":"$context.requestId","time":"$context.requestTime","route":"$context.routeKey","path":"$context.path",` +
			`"status":"$context.status","latency":"$context.responseLatency","error":"$context.error.message",` +
			`"authorizer":"$context.authorizer.error","integration":"$context.integrationErrorMessage"}`),
	})
}
