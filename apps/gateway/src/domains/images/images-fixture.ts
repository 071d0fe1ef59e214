import { systemIds } from '../../platform/ids.ts'
import type { ownImage } from './tables.ts'

/** What a form of an image holds that is all right. */
export const imageDetails = {
  name: 'Harbour tools',
  description: 'A shell with what a harbour needs.',
  tags: ['base' as const],
  region_code: 'us-west',
  readme: '# Harbour\n\nRun `ls`.',
}

/** A row of an image that is kept, of one customer. */
export function keptImage(
  userId: string,
  changes: Partial<typeof ownImage.$inferInsert> = {},
): typeof ownImage.$inferInsert {
  const at = new Date()
  return {
    id: systemIds.imageId(),
    userId,
    name: imageDetails.name,
    description: imageDetails.description,
    tags: imageDetails.tags,
    regionCode: imageDetails.region_code,
    kind: 'POD',
    versionInfo: '',
    preloadedModels: '',
    startCommand: '',
    httpPorts: [],
    tcpPorts: [],
    minVramGb: 0,
    readme: imageDetails.readme,
    driver: 'fake',
    sizeBytes: 3 * 1_073_741_824,
    engineId: 'fake',
    status: 'private',
    statusSince: at,
    microPerGbDay: 1_700n,
    nextAttemptAt: at,
    createdAt: at,
    updatedAt: at,
    ...changes,
  }
}
