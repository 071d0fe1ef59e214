import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { Pool } from 'pg'
import { communityCopy } from '../src/domains/images/images-fixture.ts'
import { communityImage, ownImage } from '../src/domains/images/tables.ts'

/**
 * Gives the community an image of a customer's, as if it had been made and reviewed: what makes machines of the host's own
 * files can make none.
 * @param databaseUrl Of a gateway of a test.
 * @param id Of the image, in whatever state it is.
 */
export async function publishRow(databaseUrl: string, id: string): Promise<void> {
  const pool = new Pool({ connectionString: databaseUrl, max: 1 })
  try {
    const db = drizzle({ client: pool })
    const [row] = await db.select().from(ownImage).where(eq(ownImage.id, id))
    if (!row) throw new Error(`there is no image ${id}`)
    const { place: _, ...origin } = row
    const copy = communityCopy({ ...origin, sizeBytes: 1 })
    await db.insert(communityImage).values(copy)
    await db
      .update(ownImage)
      .set({ status: 'community', communityId: copy.id, number: 1, reasonCode: null, reasonDetail: '' })
      .where(eq(ownImage.id, id))
  } finally {
    await pool.end()
  }
}
