/**
 * An image's size for people (R3.20, R9.4): over 1024 MB in GB, rounded up, else in MB.
 * @param mb Size in MB.
 * @returns Such as `8 GB` or `512 MB`.
 */
export function formatImageSize(mb: number): string {
  return mb > 1_024 ? `${Math.ceil(mb / 1_024)} GB` : `${mb} MB`
}
