import { z } from 'zod'
import { type KubeLink, orNull } from './kube-link.ts'
import { CLOUD_LABEL, IMAGE_LABEL, type KubeNames, pathOf } from './kube-names.ts'
import type { KubeObjects } from './kube-objects.ts'
import type { createTenantNamespaces } from './tenant-namespaces.ts'

const noteSchema = z.object({
  /** By which the registry has it; null before it is known. */
  digest: z.string().nullable(),
  size_bytes: z.number(),
  /** All of it is at the registry. */
  is_whole: z.boolean(),
  entrypoint: z.array(z.string()),
  command: z.array(z.string()),
  home: z.string(),
  is_user: z.boolean(),
})
/** What is written down of an image that was made of a machine, or brought to a cluster. */
export type OwnImageNote = z.infer<typeof noteSchema>

const NOTE = 'note'

/**
 * What images of a cloud there are at the cluster's registry: a config map each, in a namespace of the cloud's own that no
 * customer's is. It is there before its image is begun, so that a killed gateway leaves nothing that nobody knows.
 */
export function createOwnImageNotes(deps: {
  link: KubeLink
  objects: KubeObjects
  names: KubeNames
  cloudId: string
  namespaces: ReturnType<typeof createTenantNamespaces>
}) {
  const { link, objects, names, cloudId, namespaces } = deps
  const ensure = () => namespaces.ensure(undefined)
  const noteIn = (data: Record<string, string> | undefined) => {
    const text = data?.[NOTE]
    return text === undefined ? null : (noteSchema.safeParse(JSON.parse(text)).data ?? null)
  }
  return {
    /** What is known of an image; null: nothing. */
    async read(id: string): Promise<OwnImageNote | null> {
      const path = pathOf('configmaps', await ensure(), names.ownImage(id))
      const found = await orNull(link.json<{ data?: Record<string, string> }>('GET', path))
      return noteIn(found?.data)
    },

    async write(id: string, note: OwnImageNote): Promise<void> {
      const namespace = await ensure()
      const name = names.ownImage(id)
      await objects.apply(pathOf('configmaps', namespace, name), {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace, labels: { [CLOUD_LABEL]: cloudId, [IMAGE_LABEL]: id } },
        data: { [NOTE]: JSON.stringify(note) },
      })
    },

    async remove(id: string): Promise<void> {
      await objects.remove('configmaps', { namespace: await ensure(), name: names.ownImage(id) })
    },

    /** All of them, also those that are not whole. */
    async list(): Promise<{ id: string; size_bytes: number }[]> {
      const { items } = await link.json<{
        items: { metadata: { labels: Record<string, string> }; data?: Record<string, string> }[]
      }>('GET', pathOf('configmaps', await ensure()), {
        query: { labelSelector: names.selector(IMAGE_LABEL) },
      })
      return items.map(({ metadata, data }) => ({
        id: metadata.labels[IMAGE_LABEL] ?? '',
        size_bytes: noteIn(data)?.size_bytes ?? 0,
      }))
    },
  }
}
export type OwnImageNotes = ReturnType<typeof createOwnImageNotes>
