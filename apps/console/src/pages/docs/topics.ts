/** The parts of the docs, in their order: each heading of the second level begins one, and has this for its anchor. */
export const DOC_TOPICS = ['deploy', 'connect', 'charges', 'keys', 'limits', 'errors'] as const
