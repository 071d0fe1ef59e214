import type { CreationFile } from '@berth/contract/creations'

/** Where a file is saved from rather than shown. */
export function downloadOf({ url }: Pick<CreationFile, 'url'>): string {
  return `${url}${url.includes('?') ? '&' : '?'}download`
}
