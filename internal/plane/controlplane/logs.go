package controlplane

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

// setUpLogs sends the components' warnings and errors to the log file of dir,
// or, when verbose, everything to stderr.
func setUpLogs(dir string, verbose bool, stderr io.Writer) error {
	settings := map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true", "v": "0"}
	if verbose {
		settings["v"] = "2"
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range settings {
		if err := flags.Set(name, value); err != nil {
			return fmt.Errorf("set up the log: %w", err)
		}
	}
	// gRPC warns about every connection that a client closes.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, stderr))
	if verbose {
		klog.SetOutput(child.WithoutValues{Out: stderr})
		return nil
	}
	// Never closed: components log until the process ends.
	file, err := os.OpenFile(filepath.Join(dir, child.LogFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	klog.SetOutput(child.WithoutValues{Out: file})
	klog.SetOutputBySeverity("INFO", io.Discard)
	return nil
}

// etcdLog is where etcd logs to, in the words of its own configuration.
func etcdLog(dir string, verbose bool) string {
	if verbose {
		return "stderr"
	}
	return filepath.Join(dir, child.LogFile)
}
