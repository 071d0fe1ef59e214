import { officialImages, officialImagesIn } from '@berth/contract/images'
import { type Route, route } from '../../platform/http/handler.ts'
import type { Images } from './images.ts'

/**
 * The calls on images (R7.3).
 * @param images The domain.
 */
export function imagesRoutes(images: Images): Route[] {
  return [
    route(officialImages, async () => images.official(null)),
    route(officialImagesIn, async ({ params }) => images.official(params.region)),
  ]
}
