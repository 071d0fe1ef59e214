/** The pages about hosted models, in the order of their bar. Those that are not in the table of routes are not shown. */
export const MODEL_PATHS = [
  '/model-endpoints',
  '/chat-model',
  '/multi-modal',
  '/image-model',
  '/video-model',
  '/session-logs',
] as const
export type ModelPath = (typeof MODEL_PATHS)[number]
