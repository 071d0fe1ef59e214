import { type Image, officialImages } from '@berth/contract/images'
import { screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { renderInPage } from '../../component-fixture.tsx'
import { sampleOf } from '../../schema-fixture.ts'
import { ImageField } from './ImageField.tsx'

const [sample] = sampleOf(officialImages.data) as [Image]

test.each([
  [7_580, '8 GB'],
  [1_025, '2 GB'],
  [1_024, '1024 MB'],
])('[R3.20] an image of %i MB says in the picker that it is of %s', async (size, text) => {
  const images = [{ ...sample, id: 'one', name: 'One', version_info: 'Shell', size, min_vram_gb: 0 }]
  const Field = () => (
    <ImageField
      images={images}
      vramGb={0}
      field={{ value: 'one', onChange: () => {} } as never}
      onChoose={() => {}}
    />
  )
  await renderInPage(Field, { namespaces: ['explore', 'deploy'] })
  // Under the field, and in the list that it opens.
  expect(await screen.findAllByText(`Shell · ${text}`)).toHaveLength(2)
})
