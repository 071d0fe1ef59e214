import { and, eq, isNull, ne } from 'drizzle-orm'
import type { Database } from '../../platform/database/database.ts'
import { systemIds } from '../../platform/ids.ts'
import { walletHold } from '../billing/ledger/tables.ts'
import { type communityImage, ownImage } from './tables.ts'

/** What a form of an image holds that is all right. */
export const imageDetails = {
  name: 'Harbour tools',
  description: 'A shell with what a harbour needs.',
  tags: ['base' as const],
  region_code: 'us-west',
  readme: '# Harbour\n\nRun `ls`.',
}

/** Images for which money is still set aside though they are not being made. */
export async function heldForNothing(db: Database): Promise<string[]> {
  const rows = await db
    .select({ id: ownImage.id })
    .from(walletHold)
    .innerJoin(ownImage, eq(ownImage.id, walletHold.subjectId))
    .where(
      and(
        eq(walletHold.subjectKind, 'image'),
        isNull(walletHold.releasedAt),
        ne(ownImage.status, 'building'),
      ),
    )
  return rows.map(({ id }) => id)
}

/** A row of an image that is kept, of one customer. */
export function keptImage(
  userId: string,
  changes: Partial<typeof ownImage.$inferInsert> = {},
): typeof ownImage.$inferInsert {
  const at = new Date()
  const id = changes.id ?? systemIds.imageId()
  return {
    id,
    builtId: id,
    parts: { fake: { own: id } },
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

/** What the community has of one. */
export function communityCopy(origin: typeof ownImage.$inferInsert): typeof communityImage.$inferInsert {
  const { status, statusSince, engineId, microPerGbDay, nextAttemptAt, userId, ...said } = origin
  return {
    ...said,
    id: systemIds.imageId(),
    originId: origin.id,
    authorId: userId,
    authorName: 'Mira',
    number: 1,
  }
}
