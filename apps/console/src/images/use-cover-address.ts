import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from '../api/queries.ts'

/**
 * Where a cover is shown from: the brand's image storage, which passes it on, or the gateway itself (R1.10).
 * @param coverUrl As an image has it, on the gateway's origin; null for an image without a cover.
 * @returns Null without one, and while it is not known where it is.
 */
export function useCoverAddress(coverUrl: string | null): string | null {
  const { data } = useQuery(settingsQuery)
  if (coverUrl === null || !data) return null
  return (data.brand.image_storage_url?.replace(/\/+$/, '') ?? '') + coverUrl
}
