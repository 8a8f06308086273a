package parameter_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/stepwell-dev/stepwell/internal/boot/serverless/parameter"
	"github.com/stepwell-dev/stepwell/localstack/emulator"
)

func TestRead(t *testing.T) {
	cfg := emulator.Start(t).Config()
	name := "/" + emulator.Name(t) + "/key"
	if _, err := ssm.NewFromConfig(cfg).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: &name, Value: aws.String("secret"), Type: types.ParameterTypeSecureString,
	}); err != nil {
		t.Fatal(err)
	}
	if value, err := parameter.Read(t.Context(), cfg, name); err != nil || value != "secret" {
		t.Errorf("the parameter is %q, %v", value, err)
	}
	if value, err := parameter.Read(t.Context(), cfg, name+"-none"); err == nil {
		t.Errorf("a parameter that is not there is %q", value)
	}
}
