// Package parameter reads secrets from the parameters of AWS Systems Manager. Only functions that are given the name of one link it: the client of this
// service describes nine hundred types before main, which takes 3 ms of a start.
package parameter

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Read returns the value of a parameter, decrypted if it is of type SecureString.
func Read(ctx context.Context, cfg aws.Config, name string) (string, error) {
	out, err := ssm.NewFromConfig(cfg).GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Parameter.Value), nil
}
