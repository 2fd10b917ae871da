-- Writes the places that fzf-lua puts into the quickfix list for each query, as lists of [file, line, column].
local fzf = require 'fzf-lua'
local lists, queries = {}, vim.json.decode(vim.env.QUERIES)

local function places()
  local found = {}
  for _, item in ipairs(vim.fn.getqflist()) do
    table.insert(found, { vim.uv.fs_realpath(vim.fn.bufname(item.bufnr)), item.lnum, item.col })
  end
  return found
end

for _, query in ipairs(queries) do
  vim.fn.setqflist {}
  local options = {
    -- As soon as all lines are there, as if a person had chosen them all. A live picker begins with an empty list.
    keymap = { fzf = { load = 'select-all+accept-non-empty' } },
    actions = { ['enter'] = fzf.actions.file_sel_to_qf },
  }
  if query.picker == 'live_grep' then
    options.query = query.typed
  else
    options.search, options.no_esc = query.typed, true
  end
  fzf[query.picker](options)
  vim.wait(60000, function() return #vim.fn.getqflist() > 0 end, 20)
  table.insert(lists, places())
  vim.cmd 'cclose'
end
vim.fn.writefile({ vim.json.encode(lists) }, vim.env.OUT)
vim.cmd 'qall!'
