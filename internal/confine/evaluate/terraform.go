package evaluate

import (
	"context"
	"time"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

// terraformTime is how much CPU time one folder may take.
const terraformTime = 5 * time.Second

// Terraform reads the clusters that a folder of Terraform registers with Argo CD, in
// a worker.
func Terraform(ctx context.Context, folder terraform.Folder) ([]terraform.Cluster, error) {
	return ask[terraform.Folder, []terraform.Cluster](ctx, wire.Terraform, folder, terraformTime)
}

// Releases reads the releases of a chart that a folder of Terraform installs, in a worker.
func Releases(ctx context.Context, of terraform.OfChart) ([]terraform.Release, error) {
	return ask[terraform.OfChart, []terraform.Release](ctx, wire.Releases, of, terraformTime)
}

// Units finds the units of Terragrunt among its files, in a worker.
func Units(ctx context.Context, files []terraform.File) ([]terraform.Unit, error) {
	return ask[[]terraform.File, []terraform.Unit](ctx, wire.Units, files, terraformTime)
}

// Made reads what all Terraform of a repository makes in clusters, in a worker.
func Made(ctx context.Context, all terraform.Repository) (terraform.Made, error) {
	return ask[terraform.Repository, terraform.Made](ctx, wire.Made, all, terraformTime)
}
