package main

import (
	"context"
	"fmt"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// cluster is the one that Argo CD runs in, as far as its generators look at it: the
// Secrets of clusters, and AppProjects. Both clients show the same.
type cluster struct {
	objects    client.Client
	kubernetes kubernetes.Interface
}

func newCluster(request Request) (cluster, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return cluster{}, fmt.Errorf("learn the kinds of Kubernetes: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return cluster{}, fmt.Errorf("learn the kinds of Argo CD: %w", err)
	}
	var objects []client.Object
	var secrets []runtime.Object
	for i, c := range request.Clusters {
		s := &corev1.Secret{Data: map[string][]byte{"name": []byte(c.Name), "server": []byte(c.Server), "config": []byte("{}")}}
		s.Name, s.Namespace, s.Annotations = fmt.Sprintf("cluster-%d", i), request.Namespace, c.Annotations
		s.Labels = map[string]string{common.LabelKeySecretType: common.LabelValueSecretTypeCluster}
		for key, value := range c.Labels {
			s.Labels[key] = value
		}
		objects, secrets = append(objects, s), append(secrets, s)
	}
	return cluster{
		objects: clientfake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
				if _, ok := o.(*v1alpha1.AppProject); ok {
					return nil // there is every project, and none asks for signatures
				}
				return c.Get(ctx, key, o, options...)
			},
		}).Build(),
		kubernetes: fake.NewSimpleClientset(secrets...),
	}, nil
}
