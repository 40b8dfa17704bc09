package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"

	restful "github.com/emicklei/go-restful/v3"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	openapiaggregator "k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator"
	openapiv3aggregator "k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
)

// openAPI publishes the API's description, /openapi/v2 and /openapi/v3, as
// kube-apiserver does; aggregated APIs are left out, because the simulated cluster
// describes none. The description is made when somebody first reads some of it:
// that is a fifth of the work of a start, and nobody reads it in most planes.
//
// The list of what can be read does not count as reading: the admission of
// mutating policies asks for it every five seconds.
type openAPI struct {
	aggregator *genericapiserver.GenericAPIServer
	// kubernetes has not installed its description, because the server was
	// configured so; custom resources, which it delegates to, has.
	kubernetes *genericapiserver.GenericAPIServer
	v2         *common.Config
	v3         *common.OpenAPIV3Config

	mu      sync.RWMutex
	handler http.Handler
	groups  openapiv3aggregator.SpecProxier
}

// installOpenAPI has the servers answer for the description.
func installOpenAPI(aggregator *genericapiserver.GenericAPIServer, v2 *common.Config, v3 *common.OpenAPIV3Config) error {
	kubernetes, ok := aggregator.NextDelegate().(*genericapiserver.GenericAPIServer)
	if !ok {
		return errors.New("the aggregator does not delegate to the Kubernetes API")
	}
	a := &openAPI{aggregator: aggregator, kubernetes: kubernetes, v2: v2, v3: v3}
	paths := aggregator.Handler.NonGoRestfulMux
	paths.HandleFunc("/openapi/v3", a.list)
	paths.Handle("/openapi/v2", a)
	paths.HandlePrefix("/openapi/v3/", a)
	return nil
}

// ServeHTTP implements http.Handler.
func (a *openAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := a.make(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.handler.ServeHTTP(w, r)
}

// make makes the description, once.
func (a *openAPI) make() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.handler != nil {
		// kube-apiserver looks for groups that came and went every second.
		for _, name := range a.groups.GetAPIServiceNames() {
			if err := a.groups.UpdateAPIServiceSpec(name); err != nil {
				return fmt.Errorf("describe the API: %w", err)
			}
		}
		return nil
	}
	own := a.kubernetes.Handler
	routes.OpenAPI{Config: a.v2}.InstallV2(own.GoRestfulContainer, own.NonGoRestfulMux)
	routes.OpenAPI{V3Config: a.v3}.InstallV3(own.GoRestfulContainer, own.NonGoRestfulMux)

	handler := mux.NewPathRecorderMux("openapi")
	services := a.aggregator.Handler.GoRestfulContainer
	downloader := openapiaggregator.NewDownloader()
	_, err := openapiaggregator.BuildAndRegisterAggregator(&downloader, a.kubernetes, services.RegisteredWebServices(), a.v2, handler)
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	a.groups, err = openapiv3aggregator.BuildAndRegisterAggregator(openapiv3aggregator.NewDownloader(), a.kubernetes, services, a.v3, handler)
	if err != nil {
		return fmt.Errorf("describe the API: %w", err)
	}
	a.handler = handler
	return nil
}

// list answers what there is to read. Each path has a digest of what it leads to;
// as long as that has not been made it is the version of Kubernetes, which
// determines the former. A reader is led on from there.
func (a *openAPI) list(w http.ResponseWriter, r *http.Request) {
	a.mu.RLock()
	made := a.handler != nil
	a.mu.RUnlock()
	if made {
		a.ServeHTTP(w, r)
		return
	}
	all := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for _, services := range [][]*restful.WebService{
		a.kubernetes.Handler.GoRestfulContainer.RegisteredWebServices(),
		a.aggregator.Handler.GoRestfulContainer.RegisteredWebServices(),
	} {
		for _, s := range services {
			group := s.RootPath()[1:]
			to := url.URL{Path: "/openapi/v3/" + group, RawQuery: url.Values{"hash": {kubernetesVersion()}}.Encode()}
			all.Paths[group] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: to.String()}
		}
	}
	downloader := openapiv3aggregator.NewDownloader()
	custom, status, err := downloader.OpenAPIV3Root(a.kubernetes.NextDelegate().UnprotectedHandler())
	if err != nil || status != http.StatusOK {
		http.Error(w, fmt.Sprintf("list the descriptions of custom resources: %v (%d)", err, status), http.StatusInternalServerError)
		return
	}
	maps.Copy(all.Paths, custom.Paths)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(all) // a client that went away
}
