import type { FieldRule } from '@berth/contract/errors'
import { type FormErrors, type UseFormReturnType, useForm } from '@mantine/form'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type * as z from 'zod'

interface ContractFormOptions<Values extends Record<string, unknown>, Output> {
  /** A schema of the contract, or one built from its fields: the same object checks the call (R5). */
  schema: z.ZodType<Output, Values>
  initialValues: Values
  /** Sends the form, with `silent` set on the request: the failure is shown here. */
  onSubmit: (output: Output) => Promise<unknown>
}

export interface ContractForm<Values extends Record<string, unknown>> {
  /** Mantine's form, for `form.getInputProps('name')` and `form.key('name')`. */
  form: UseFormReturnType<Values>
  /** For `<form onSubmit>`. */
  submit: (event?: FormEvent<HTMLFormElement>) => void
  busy: boolean
  /** What the server refused the form as a whole for; null otherwise. Show it with `FormFailure`. */
  failure: string | null
  setFailure: (message: string | null) => void
}

/**
 * A form that checks itself with a contract schema, puts the focus on the first bad field, shows the server's
 * field errors at their fields, and keeps what was typed.
 * @param options See ContractFormOptions.
 */
export function useContractForm<Values extends Record<string, unknown>, Output>(
  options: ContractFormOptions<Values, Output>,
): ContractForm<Values> {
  const { t } = useTranslation('errors')
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string | null>(null)
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues: options.initialValues,
    validateInputOnBlur: false,
    validate: values => errorsOf(options.schema, values, rule => t(`rules.${rule}`)),
  })

  const focusFirst = (errors: FormErrors) => {
    const node = Object.keys(errors)
      .map(path => form.getInputNode(path as never) as HTMLElement | null)
      .filter(node => node !== null)
      // The first one on the page, whatever order the schema lists them in.
      .sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))[0]
    node?.focus()
  }

  const send = async (values: Values) => {
    setBusy(true)
    setFailure(null)
    try {
      await options.onSubmit(options.schema.parse(values))
    } catch (error) {
      const { fields, message } = faultsOf(error)
      if (fields === null) throw error
      const errors = Object.fromEntries(fields.map(field => [field.path, field.msg]))
      const known = Object.keys(errors).filter(path => form.getInputNode(path as never) !== null)
      form.setErrors(errors)
      if (known.length > 0) focusFirst(errors)
      else setFailure(message)
    } finally {
      setBusy(false)
    }
  }

  return { form, submit: form.onSubmit(values => void send(values), focusFirst), busy, failure, setFailure }
}

/** The texts of the rules that values break, by path; only the first rule of each field. */
function errorsOf(schema: z.ZodType, values: unknown, textOf: (rule: FieldRule) => string): FormErrors {
  const result = schema.safeParse(values)
  if (result.success) return {}
  const errors: FormErrors = {}
  for (const issue of result.error.issues) {
    const path = issue.path.join('.')
    errors[path] ??= textOf(issue.message as FieldRule)
  }
  return errors
}

/** Reads an error that a call of the contract failed with; `fields` is null for anything else. */
function faultsOf(error: unknown): { fields: { path: string; msg: string }[] | null; message: string } {
  if (!(error instanceof Error) || !('fields' in error) || !Array.isArray(error.fields)) {
    return { fields: null, message: '' }
  }
  return { fields: error.fields, message: error.message }
}
