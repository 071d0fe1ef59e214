import { expect, test } from 'vitest'
import { IMAGE_ACTIONS, imageCan } from './image-actions.ts'
import { IMAGE_STATUSES } from './images.ts'

test('[R4.8] what may be done with an image in each status', () => {
  const allowed = Object.fromEntries(
    IMAGE_STATUSES.map(status => [status, IMAGE_ACTIONS.filter(action => imageCan(action, status))]),
  )
  expect(allowed).toEqual({
    building: ['edit', 'cancel_build', 'delete'],
    private: ['deploy', 'publish', 'edit', 'delete'],
    review: ['deploy', 'cancel_publishing', 'make_private', 'edit', 'new_version', 'delete'],
    community: ['deploy', 'make_private', 'edit', 'new_version', 'delete'],
    refused: ['deploy', 'publish', 'make_private', 'edit', 'new_version', 'delete'],
    failed: ['edit', 'build_again', 'delete'],
    deleting: [],
  })
})
