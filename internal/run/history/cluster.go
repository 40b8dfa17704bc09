package history

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Where rollouts keep their history in the cluster.
const (
	clusterNamespace = "ladder-system"
	clusterPrefix    = "ladder-history-"
)

// FromCluster reads the entries of a cluster. ConfigMaps that hold no report are
// problems.
func FromCluster(ctx context.Context, client corev1client.ConfigMapsGetter) ([]Entry, []Problem, error) {
	var entries []Entry
	var problems []Problem
	options := metav1.ListOptions{Limit: 50}
	for {
		page, err := client.ConfigMaps(clusterNamespace).List(ctx, options)
		if err != nil {
			return nil, nil, fmt.Errorf("read the history in namespace %s: %w", clusterNamespace, err)
		}
		for _, cm := range page.Items {
			if !strings.HasPrefix(cm.Name, clusterPrefix) {
				continue
			}
			values := map[string][]byte{}
			for key, value := range cm.Data {
				values[key] = []byte(value)
			}
			maps.Copy(values, cm.BinaryData)
			where := "ConfigMap " + clusterNamespace + "/" + cm.Name
			e, err := firstReport(where, values)
			if err != nil {
				problems = append(problems, Problem{Where: where, Reason: err.Error()})
				continue
			}
			entries = append(entries, e)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return Merge(entries), problems, nil
		}
	}
}

// firstReport is the report among the values of a ConfigMap.
func firstReport(where string, values map[string][]byte) (Entry, error) {
	problem := fmt.Errorf("%s is empty", where)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		e, err := Parse(where, values[key])
		if err == nil {
			return e, nil
		}
		problem = err
	}
	return Entry{}, problem
}
