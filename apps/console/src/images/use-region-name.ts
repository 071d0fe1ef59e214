import { allRegions } from '@berth/contract/regions'
import { useQuery } from '@tanstack/react-query'
import { queryOf } from '../api/queries.ts'

/**
 * What regions are called, in the interface's language.
 * @returns Takes a region's code; it is said itself while names are not known, and where there is no such region any more.
 */
export function useRegionName(): (code: string) => string {
  const { data } = useQuery({ ...queryOf(allRegions, {}), meta: { silent: true } })
  return code => data?.find(region => region.code === code)?.name ?? code
}
