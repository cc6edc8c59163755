import { ConfigError } from "../../config/config-error.js";
import { type Config, type ConfigKey, configOptions } from "../../config/options.js";
import { type ClosableEmbedder, embeddedEmbedder } from "./embedded.js";
import { embeddedInstall, findEmbeddedFiles } from "./embedded-files.js";
import { openaiEmbedder } from "./openai.js";

export type EmbedderSettings = Pick<Config, Extract<ConfigKey, `embedder${string}`>>;

/** The embedder that the settings name; undefined for none. Throws a ConfigError that says what to install. */
export function configuredEmbedder(settings: EmbedderSettings): ClosableEmbedder | undefined {
  switch (settings.embedder) {
    case "none":
      return undefined;
    case "embedded": {
      const files = findEmbeddedFiles();
      if (files === undefined)
        throw new ConfigError([
          `${configOptions.embedder.flag} embedded needs packages that are not installed: ${embeddedInstall}`,
        ]);
      return embeddedEmbedder(files);
    }
    case "openai":
      return {
        ...openaiEmbedder({
          baseUrl: settings.embedderOpenaiUrl,
          model: settings.embedderOpenaiModel,
          apiKey: settings.embedderOpenaiKey,
          dimensions: settings.embedderOpenaiDimensions,
          queryPrefix: settings.embedderQueryPrefix,
          textPrefix: settings.embedderTextPrefix,
          batchSize: settings.embedderBatchSize,
          timeoutMs: settings.embedderTimeoutMs,
          retries: settings.embedderRetries,
        }),
        close: async () => undefined,
      };
  }
}
