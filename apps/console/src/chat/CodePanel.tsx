import { MODEL_TOOLS, type ModelTool, modelCode } from '@berth/contract/model-code'
import type { Model } from '@berth/contract/models'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { searchOf } from '../app/search.ts'
import { CodeSample } from '../ui/CodeSample.tsx'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import classes from './SidePanel.module.css'

const NAMES: Record<ModelTool, string> = { curl: 'cURL', python: 'Python', javascript: 'JavaScript' }

/** How a program asks the same models (B11), with a key of the customer's. */
export function CodePanel({ models }: { models: readonly Model[] }) {
  const { t } = useTranslation('chat')
  const [tool, setTool] = useState<ModelTool>('curl')
  const url = `${window.location.origin}/v1`
  return (
    <div className={classes.code}>
      <SegmentedFilter
        label={t('code.tool')}
        value={tool}
        onChange={setTool}
        options={MODEL_TOOLS.map(value => ({ value, label: NAMES[value] }))}
      />
      {models.map(({ id, name }) => (
        <CodeSample key={id} label={`${name}, ${NAMES[tool]}`} code={modelCode(tool, { url, model: id })} />
      ))}
      <p className={classes.note}>
        {t('code.key')}{' '}
        <Link to="/settings" search={searchOf({ section: 'api-keys' })}>
          {t('code.keys')}
        </Link>
      </p>
    </div>
  )
}
