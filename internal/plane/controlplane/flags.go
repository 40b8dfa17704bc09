package controlplane

import (
	"fmt"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// parseFlags sets a component's options from flags, in a flag set of its own:
// the cobra commands of the components install signal handlers and logging that
// a process can have once only.
func parseFlags(component string, sets cliflag.NamedFlagSets, args []string) error {
	all := pflag.NewFlagSet(component, pflag.ContinueOnError)
	for _, name := range sets.Order {
		all.AddFlagSet(sets.FlagSets[name])
	}
	if err := all.Parse(args); err != nil {
		return fmt.Errorf("set the options of %s: %w", component, err)
	}
	return nil
}
