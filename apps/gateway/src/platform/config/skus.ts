// What the catalogue sells by the hour has SKUs that are made from its own ids: a price stands in one place.

/** The SKU of a machine by its spec: one GPU of it, or the whole machine where it has none. */
export const computeSku = (specId: string) => `compute.${specId}`

/** The SKU of a GB of container disk beyond the free part. */
export const CONTAINER_DISK_SKU = 'disk.container'

/** The SKUs of a GB of what an instance has beside that: a second disk of a virtual machine, a pod's own volume. */
export const OWN_DISK_SKUS = { data_disk: 'disk.data', pod_volume: 'disk.pod_volume' } as const

/** The SKU of a GB of network volume. */
export const NETWORK_VOLUME_SKU = 'volume.network'

/** The SKU of a GB of a snapshot of one. */
export const VOLUME_SNAPSHOT_SKU = 'volume.snapshot'

/** The SKU of a GB of a customer's image. */
export const IMAGE_SKU = 'image.storage'

/** The SKU of a GB that a machine of a region sends. */
export const trafficSku = (regionCode: string) => `${TRAFFIC_SKUS}${regionCode}`

/** SKUs of traffic begin so. */
export const TRAFFIC_SKUS = 'traffic.'

/** The SKU of an address that one instance has for itself. */
export const PUBLIC_IP_SKU = 'public_ip.dedicated'
