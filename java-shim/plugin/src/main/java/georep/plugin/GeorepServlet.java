// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import georep.plugin.control.PolicyWatch;
import georep.plugin.http.BodyLimit;
import georep.plugin.http.ExchangeResource;
import georep.plugin.http.OperatorResource;
import georep.plugin.http.ParkedResource;
import georep.plugin.http.RawEntriesResource;
import georep.plugin.http.RefusalFilter;
import georep.plugin.http.ReplicationResource;
import georep.plugin.http.StartResource;
import georep.plugin.source.SegmentMetrics;
import georep.plugin.source.SourceBroker;
import georep.plugin.source.SourceMetrics;
import jakarta.servlet.Servlet;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.scalable.ReplicatedScalableTopicService;
import org.apache.pulsar.broker.web.plugin.servlet.AdditionalServletWithPulsarService;
import org.apache.pulsar.common.configuration.PulsarConfiguration;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.servlet.ServletContainer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin's life and its HTTP calls under /admin/v2/scalable-repl; named by georep.nar's descriptor. A Jakarta
 * servlet: the broker's authentication filters do not see the older kind. The broker calls setPulsarService after its
 * services have started and before its web service, and close before its topics are closed.
 */
public final class GeorepServlet implements AdditionalServletWithPulsarService {
    public static final String BASE_PATH = "/admin/v2/scalable-repl";

    private static final Logger LOG = LoggerFactory.getLogger(GeorepServlet.class);

    private GeorepPlugin plugin;

    @Override
    public void setPulsarService(PulsarService pulsar) {
        plugin = GeorepPlugin.start(pulsar);
        if (plugin.usable()) {
            try {
                install(pulsar);
            } catch (RuntimeException | LinkageError e) {
                plugin.fail("cannot attach to this broker: " + e); // the broker starts all the same
            }
        }
        if (!SegmentTopicFactory.class.getName().equals(pulsar.getConfiguration().getTopicFactoryClassName())) {
            LOG.error("georep: topicFactoryClassName is not {}: segments replicate the broker's own way, which is "
                    + "not able to", SegmentTopicFactory.class.getName());
        }
        pulsar.addPrometheusRawMetricsProvider(new PluginMetrics(plugin));
    }

    private void install(PulsarService pulsar) {
        ReplicatedScalableTopicService service = ReplicatedScalableTopicService.install(plugin);
        plugin.service(PolicyWatch.class, p -> new PolicyWatch(pulsar, p.records(), service))
                .start(plugin.config().sweepSeconds());
        pulsar.addPrometheusRawMetricsProvider(new ConvergeMetrics(plugin, service));
        pulsar.addPrometheusRawMetricsProvider(new SourceMetrics(SourceBroker.of(pulsar)));
        pulsar.addPrometheusRawMetricsProvider(new SegmentMetrics(SourceBroker.of(pulsar)));
    }

    @Override
    public void loadConfig(PulsarConfiguration config) {
        // read when the broker is there
    }

    @Override
    public String getBasePath() {
        return BASE_PATH;
    }

    @Override
    public AdditionalServletType getServletType() {
        return AdditionalServletType.JAKARTA_SERVLET;
    }

    @Override
    public Servlet getServletInstance() {
        return new ServletContainer(new ResourceConfig(ReplicationResource.class, OperatorResource.class,
                ParkedResource.class, StartResource.class, RawEntriesResource.class, ExchangeResource.class)
                .register(new BodyLimit()).register(new RefusalFilter(plugin)));
    }

    @Override
    public void close() {
        if (plugin != null) {
            plugin.close();
        }
    }
}
